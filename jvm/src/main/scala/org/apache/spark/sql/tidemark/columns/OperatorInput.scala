package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** How a stateful operator sees its input: exactly one event-time column has Spark's mark.
  *
  * Spark's operators find their event-time column by its mark, refuse more than one, and use one watermark for both
  * inputs of a join. This node sits below such an operator. It keeps the mark on the active column, removes it from the
  * others, drops rows that are late by the active column (`filters`), and records the carried columns.
  *
  * @param active the marked column that decides which rows of this input are late; `None` without event time
  * @param carried the other event-time columns that stay in the operator's state and drop no rows; in the order of
  *   [[PlanShapeBuilder]]
  */
case class OperatorInput(active: Option[Attribute], carried: Seq[Attribute], filters: Boolean, child: LogicalPlan)
    extends UnaryNode {

  override def output: Seq[Attribute] = OperatorInput.output(child.output, active)

  // Referenced, so that Spark never prunes a column that only the watermarks need.
  override lazy val references: AttributeSet = AttributeSet(active.toSeq ++ carried)

  override protected def withNewChildInternal(newChild: LogicalPlan): OperatorInput = copy(child = newChild)
}

object OperatorInput {
  private[tidemark] def output(child: Seq[Attribute], active: Option[Attribute]): Seq[Attribute] = {
    val marked: Map[ExprId, Attribute] = active.map(a => a.exprId -> a).toMap
    child.map { attribute =>
      marked.get(attribute.exprId) match {
        case Some(a) => attribute.withMetadata(a.metadata)
        case None => EventTimeMarks.unmark(attribute)
      }
    }
  }
}
