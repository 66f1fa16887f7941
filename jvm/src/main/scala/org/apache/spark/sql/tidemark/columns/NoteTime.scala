package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Marks the event-time column by which a query notes how far its output is. Rows pass unchanged.
  *
  * The node stays in the plan, because the optimizer gives columns other ids, and leaves out those that are not used.
  *
  * @param id the same in every copy of the plan
  */
private[tidemark] case class NoteTime(id: UUID, column: Attribute, options: NoteOptions, child: LogicalPlan)
    extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override lazy val references: AttributeSet = AttributeSet(column)
  override protected def withNewChildInternal(newChild: LogicalPlan): NoteTime = copy(child = newChild)
}
