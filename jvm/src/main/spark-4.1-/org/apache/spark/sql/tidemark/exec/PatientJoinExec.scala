package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper._

/** Spark's inner stream-stream join, in a batch that leaves expired rows of a side in state.
  *
  * Nobody can tell: such a row matches no row that is on time. A later batch evicts it. Code that looks for Spark's node
  * finds this one.
  *
  * Spark 4.2 gave the operator one parameter more; else this file is the same for all minors.
  */
final class PatientJoinExec private[tidemark] (
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
    right: SparkPlan)
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
      right) {

  // As in Spark, for a join with a bound: the rows of the next batch are judged by the watermark that a no-data batch brings.
  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    eventTimeWatermarkForEviction.exists(newInputWatermark > _)

  override def nodeName: String = "StreamingSymmetricHashJoin"

  // Spark keeps a node that a rule replaces by an equal one, and its operator must not be equal to this one.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[PatientJoinExec]
  override def equals(that: Any): Boolean = canEqual(that) && super.equals(that)
  override def hashCode: Int = super.hashCode

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): PatientJoinExec =
    PatientJoinExec(copy(left = newLeft, right = newRight))
}

private[tidemark] object PatientJoinExec {

  /** @param join without the predicates of sides that are not evicted */
  def apply(join: StreamingSymmetricHashJoinExec): PatientJoinExec =
    new PatientJoinExec(
      join.leftKeys,
      join.rightKeys,
      join.joinType,
      join.condition,
      join.stateInfo,
      join.eventTimeWatermarkForLateEvents,
      join.eventTimeWatermarkForEviction,
      join.stateWatermarkPredicates,
      join.stateFormatVersion,
      join.left,
      join.right)
}
