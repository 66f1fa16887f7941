package org.apache.spark.sql.tidemark.exec.order

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** Says in the plan in what order the operator above reads its rows. It does nothing.
  *
  * @param order the order, in words
  */
case class OrderNoteExec(order: String, child: SparkPlan) extends UnaryExecNode {
  override def nodeName: String = "Order"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): OrderNoteExec = copy(child = newChild)
}
