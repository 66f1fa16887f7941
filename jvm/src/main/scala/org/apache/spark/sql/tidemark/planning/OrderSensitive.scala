package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{LocalLimitExec, SparkPlan}
import org.apache.spark.sql.execution.python.streaming.{
  FlatMapGroupsInPandasWithStateExec,
  TransformWithStateInPySparkExec
}
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate.FlatMapGroupsWithStateExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.tidemark.exec.order.HoldExec

/** Operators whose result depends on the order of their rows. */
private[tidemark] object OrderSensitive {

  /** The columns of an operator's groups, in each of which the order of rows matters; none if all rows are one group. */
  def unapply(plan: SparkPlan): Option[Seq[Attribute]] = plan match {
    case groups: FlatMapGroupsWithStateExec => Some(groups.groupingAttributes)
    case groups: FlatMapGroupsInPandasWithStateExec => Some(groups.groupingAttributes)
    case groups: TransformWithStateExec => Some(groups.groupingAttributes)
    case groups: TransformWithStateInPySparkExec => Some(groups.groupingAttributes)
    case _ => keysOfFirst(plan)
  }

  /** The same of an operator that keeps the first rows. Those pass it in the batch in which they come, or never. */
  def keysOfFirst(plan: SparkPlan): Option[Seq[Attribute]] = plan match {
    case _: HoldExec => None
    case first: StreamingDeduplicateExec => Some(first.keyExpressions)
    case first: StreamingDeduplicateWithinWatermarkExec => Some(first.keyExpressions)
    // Which rows of a partition come to the limit of all.
    case _: StreamingGlobalLimitExec | _: StreamingLocalLimitExec | _: LocalLimitExec => Some(Nil)
    case _ => None
  }
}
