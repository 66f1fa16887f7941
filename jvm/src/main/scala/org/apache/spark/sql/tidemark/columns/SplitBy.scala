package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Says of which split a row is, below the `withWatermark` whose clocks it keeps.
  *
  * What decides a split stays referenced, so that no column is pruned which only clocks need; and no filter is pushed
  * below, so that a split is heard although its rows are filtered out later on.
  *
  * @param id what the origin finds it by; the same wherever the plan is used twice
  * @param column the event-time column's name, for messages
  * @param by the expressions as the user wrote them
  */
case class SplitBy(id: UUID, column: String, time: Attribute, keys: Seq[Attribute], by: Seq[String], child: LogicalPlan)
    extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override lazy val references: AttributeSet = AttributeSet(time +: keys)
  override protected def withNewChildInternal(newChild: LogicalPlan): SplitBy = copy(child = newChild)
}
