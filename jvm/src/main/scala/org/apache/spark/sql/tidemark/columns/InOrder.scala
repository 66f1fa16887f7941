package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Puts the rows of a stream in the order of a time. The columns are the child's.
  *
  * @param time event time if rows wait for the watermark, else any column that can be ordered
  * @param by rows with the same values here lie together, each group in order. Without any, all rows are one group
  * @param names what `by` is, in the words of the query
  * @param zone the time zone that the values of `by` depend on, if they do
  * @param thenBy decides between rows of the same time. It is computed when rows are emitted, so that it is not kept with them
  * @param waits whether rows are held until the watermark has passed them, so that the order goes on over batches
  * @param dropsLate whether late rows are dropped; if not, they are emitted at once
  * @param isAdded whether a setting asks for it, and not the query
  */
private[tidemark] case class InOrder(
    time: Attribute,
    by: Seq[Attribute],
    names: Seq[String],
    zone: Option[String],
    thenBy: Seq[Expression],
    waits: Boolean,
    dropsLate: Boolean,
    isAdded: Boolean,
    child: LogicalPlan)
    extends UnaryNode {
  override def output: Seq[Attribute] = child.output

  // Referenced, so that Spark never prunes a column that only the order needs.
  override lazy val references: AttributeSet = AttributeSet(time +: (by ++ thenBy).flatMap(_.references))
  override protected def withNewChildInternal(newChild: LogicalPlan): InOrder = copy(child = newChild)
}
