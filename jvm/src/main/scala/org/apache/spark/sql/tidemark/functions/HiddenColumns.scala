package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.tidemark.columns.SplitMarker

/** Expressions as columns of a plan, for a node that takes columns alone.
  *
  * @param columns one for each expression
  * @param below the plan that has them
  * @param isLonger whether it has columns that the plan before had not
  */
private[functions] final case class HiddenColumns(columns: Seq[Attribute], below: LogicalPlan, isLonger: Boolean)

private[functions] object HiddenColumns {

  /** @param name tells the columns of one node from those of others */
  def of(expressions: Seq[Expression], name: String, child: LogicalPlan): HiddenColumns = {
    val named = expressions.zipWithIndex.map {
      case (column: Attribute, _) => column -> None
      case (expression, index) =>
        val alias = Alias(expression, s"${SplitMarker.HiddenPrefix}${name}_$index")()
        alias.toAttribute -> Some(alias)
    }
    val computed = named.flatMap(_._2)
    val below = if (computed.isEmpty) child else Project(child.output ++ computed, child)
    HiddenColumns(named.map(_._1), below, computed.nonEmpty)
  }
}
