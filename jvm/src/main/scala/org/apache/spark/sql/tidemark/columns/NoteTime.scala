package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Marks the event-time column by which a query notes how far its output is. Rows pass unchanged, and the optimizer removes
  * the node: the notes of a query are found in its analyzed plan ([[PlanNotes]]).
  */
case class NoteTime(column: Attribute, options: String, child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override lazy val references: AttributeSet = AttributeSet(column)
  override protected def withNewChildInternal(newChild: LogicalPlan): NoteTime = copy(child = newChild)
}
