package org.apache.spark.sql.tidemark.exec.eviction

import io.tidemark.core.Side

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful._

/** Spark's deduplication by keys with their event time, in a batch that leaves expired keys in state.
  *
  * The output does not change, because a row with an expired key is late anyway. A later batch evicts the keys. Code that
  * looks for Spark's node finds this one.
  */
final class DeferredDeduplicateExec private[tidemark] (
    keyExpressions: Seq[Attribute],
    child: SparkPlan,
    stateInfo: Option[StatefulOperatorStateInfo],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long])
    extends StreamingDeduplicateExec(
      keyExpressions,
      child,
      stateInfo,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction)
    with DeferredDedupShim
    with SkipsScans {

  override def unscanned: Set[Side] = Set(Side.Left)

  override def nodeName: String = "StreamingDeduplicate"

  override def simpleString(maxFields: Int): String = s"${super.simpleString(maxFields)}, eviction waits"

  // Spark keeps a node that a rule replaces by an equal one, and its operator must not be equal to this one.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[DeferredDeduplicateExec]
  override def equals(that: Any): Boolean = canEqual(that) && super.equals(that)
  override def hashCode: Int = super.hashCode

  override protected def withNewChildInternal(newChild: SparkPlan): DeferredDeduplicateExec =
    DeferredDeduplicateExec.of(this, newChild)
}

private[tidemark] object DeferredDeduplicateExec {

  /** Replaces Spark's operator. */
  def of(dedup: StreamingDeduplicateExec, child: SparkPlan): DeferredDeduplicateExec =
    new DeferredDeduplicateExec(
      dedup.keyExpressions,
      child,
      dedup.stateInfo,
      dedup.eventTimeWatermarkForLateEvents,
      dedup.eventTimeWatermarkForEviction)
}
