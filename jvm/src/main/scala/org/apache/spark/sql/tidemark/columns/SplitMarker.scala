package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Marks which split each row belongs to, below the `withWatermark` whose clocks it feeds.
  *
  * The split columns stay referenced, so Spark does not prune a column that only the clocks need. No filter is pushed
  * below this node, so a split counts as active even if all its rows are filtered out later.
  *
  * @param id how the origin finds this node; the same in every copy of the plan
  * @param column the event-time column's name, for messages
  * @param by the expressions as the user wrote them
  */
case class SplitMarker(
    id: UUID,
    column: String,
    time: Attribute,
    keys: Seq[Attribute],
    by: Seq[String],
    child: LogicalPlan)
    extends UnaryNode {
  // Plans and Spark's messages name it after the option.
  override def nodeName: String = "SplitBy"
  override def output: Seq[Attribute] = child.output
  override lazy val references: AttributeSet = AttributeSet(time +: keys)
  override protected def withNewChildInternal(newChild: LogicalPlan): SplitMarker = copy(child = newChild)
}

object SplitMarker {

  /** How the names of the columns begin that have the values of computed expressions. */
  private[tidemark] val HiddenPrefix = "__tidemark_"
}
