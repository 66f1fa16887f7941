package org.apache.spark.sql.tidemark.exec.eviction

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper._
import org.apache.spark.sql.streaming.OutputMode

/** [[DeferredJoin]] with the constructor of this minor: Spark 4.2 gave the operator one parameter more. */
final class DeferredJoinExec private[tidemark] (
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    condition: JoinConditionSplitPredicates,
    stateInfo: Option[StatefulOperatorStateInfo],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    stateWatermarkPredicates: JoinStateWatermarkPredicates,
    stateFormatVersion: Int,
    left: SparkPlan,
    right: SparkPlan,
    outputMode: Option[OutputMode])
    extends StreamingSymmetricHashJoinExec(
      leftKeys,
      rightKeys,
      joinType,
      condition,
      stateInfo,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      stateWatermarkPredicates,
      stateFormatVersion,
      left,
      right,
      outputMode)
    with DeferredJoin

private[tidemark] object DeferredJoinExec {

  /** Replaces Spark's operator. Each new operator costs a broadcast, so one call makes all changes.
    *
    * @param due without the predicates of sides that are not evicted
    */
  def of(
      join: StreamingSymmetricHashJoinExec,
      condition: JoinConditionSplitPredicates,
      late: Option[Long],
      eviction: Option[Long],
      due: JoinStateWatermarkPredicates,
      left: SparkPlan,
      right: SparkPlan): DeferredJoinExec =
    new DeferredJoinExec(
      join.leftKeys,
      join.rightKeys,
      join.joinType,
      condition,
      join.stateInfo,
      late,
      eviction,
      due,
      join.stateFormatVersion,
      left,
      right,
      join.outputMode)
}
