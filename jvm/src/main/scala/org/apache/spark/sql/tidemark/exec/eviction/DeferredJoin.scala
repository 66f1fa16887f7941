package org.apache.spark.sql.tidemark.exec.eviction

import io.tidemark.core.Side

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec

/** Spark's inner stream-stream join, in a batch that leaves expired rows of a side in state.
  *
  * The output does not change, because an expired row matches no row that is on time. A later batch evicts it. Code that
  * looks for Spark's node finds this one.
  */
private[exec] trait DeferredJoin extends StreamingSymmetricHashJoinExec with SkipsScans {

  // Both sides of such a join have a bound. A side without its predicate keeps its rows in this batch.
  override def unscanned: Set[Side] = {
    val predicates = stateWatermarkPredicates
    Seq[(Side, Option[Any])](Side.Left -> predicates.left, Side.Right -> predicates.right)
      .collect { case (side, None) => side }.toSet
  }

  // As in Spark, for a join with a bound: the rows of the next batch are judged by the watermark that a no-data batch brings.
  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    eventTimeWatermarkForEviction.exists(newInputWatermark > _)

  override def nodeName: String = "StreamingSymmetricHashJoin"

  override def simpleString(maxFields: Int): String = {
    val waiting = unscanned.toSeq match {
      case Seq(kept) => s"eviction of the ${kept.name} side waits"
      case _ => "eviction waits"
    }
    s"${super.simpleString(maxFields)}, $waiting"
  }

  // Spark keeps a node that a rule replaces by an equal one, and its operator must not be equal to this one.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[DeferredJoin]
  override def equals(that: Any): Boolean = canEqual(that) && super.equals(that)
  override def hashCode: Int = super.hashCode

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): DeferredJoinExec =
    DeferredJoinExec.of(
      this,
      condition,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      stateWatermarkPredicates,
      newLeft,
      newRight)
}
