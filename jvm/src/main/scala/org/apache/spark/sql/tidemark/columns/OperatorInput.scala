package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** How a stateful operator sees its input: exactly one event-time column bears Spark's mark.
  *
  * Spark's operators look their event-time column up by its mark, refuse more than one, and judge both inputs of a join
  * by one number. This node, put below such an operator, lets the active column through with its mark, takes the mark
  * off the others, drops rows that are late by their own column (`filters`), and notes the carried columns.
  *
  * @param active the column by which rows of this input are late, with its mark; `None`: no event time comes in
  * @param carried the other event-time columns that stay in the operator's state, by which nothing is dropped; in the
  *   order in which [[PlanShapeBuilder]] has them
  */
case class OperatorInput(active: Option[Attribute], carried: Seq[Attribute], filters: Boolean, child: LogicalPlan)
    extends UnaryNode {

  override def output: Seq[Attribute] = OperatorInput.output(child.output, active)

  // Named so that columns which only watermarks need are never pruned below.
  override lazy val references: AttributeSet = AttributeSet(active.toSeq ++ carried)

  override protected def withNewChildInternal(newChild: LogicalPlan): OperatorInput = copy(child = newChild)
}

object OperatorInput {
  private[tidemark] def output(child: Seq[Attribute], active: Option[Attribute]): Seq[Attribute] = {
    val marked: Map[ExprId, Attribute] = active.map(a => a.exprId -> a).toMap
    child.map { attribute =>
      marked.get(attribute.exprId) match {
        case Some(a) => attribute.withMetadata(a.metadata)
        case None => EventTimeColumns.unmark(attribute)
      }
    }
  }
}
