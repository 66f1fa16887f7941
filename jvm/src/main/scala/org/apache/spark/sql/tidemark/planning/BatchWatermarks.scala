package org.apache.spark.sql.tidemark.planning

import java.util.UUID

import io.tidemark.core.{Input, OperatorId, Side, Watermark}
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.exec.{OperatorInputExec, SplitClocksExec}
import org.apache.spark.sql.tidemark.exec.clocks.ClockLimits
import org.apache.spark.sql.tidemark.functions.WatermarkExpression

/** What one batch writes into its plan: late watermarks of the batch before, eviction watermarks of its own.
  *
  * @param label the query's name, for messages
  * @param own the watermarks of this batch
  * @param previous those of the batch before
  * @param hasRunPrevious whether this run has executed the batch before: stock Spark, which evicts less, may have
  * @param readings what expressions of the plan read, by their ids
  * @param latestMillis event times after it move no clock (ms), by the id of the clocks; any does where there is none
  */
private[tidemark] final case class BatchWatermarks(
    label: String,
    own: OperatorWatermarks,
    previous: OperatorWatermarks,
    hasRunPrevious: Boolean,
    readings: Map[UUID, Watermark],
    latestMillis: Map[UUID, Long],
    maxSplits: Int) {

  def knows(writer: StateStoreWriter, side: Side): Boolean = own.inputs.contains(input(writer, side))

  def progress(writer: StateStoreWriter): Long = own.progress(operator(writer)).getOrElse(0L)

  /** Rows at or before it are late (ms). Undefined is 0, as in Spark: event time begins with the epoch. */
  def lateMillis(writer: StateStoreWriter, side: Side): Long =
    previous.inputs.get(input(writer, side)).fold(0L)(_.input.watermark.sparkMillis)

  /** The state of that side is evicted up to here (ms); `None` if it never is. */
  def evictedMillis(writer: StateStoreWriter, side: Side): Option[Long] = evicted(own, writer, side).map(_.sparkMillis)

  /** The same by the watermarks of the batch before. */
  def lateEvictedMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    evicted(previous, writer, side).map(_.sparkMillis)

  /** Up to where the batch before has evicted it; `None` where that is not known. */
  def evictedBeforeMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    if (!hasRunPrevious) None
    else evicted(previous, writer, side).flatMap(_.millis)

  private def evicted(in: OperatorWatermarks, writer: StateStoreWriter, side: Side): Option[Watermark] =
    in.inputs.get(input(writer, side)).flatMap(_.evicted).map(_.watermark)

  def fill(exec: OperatorInputExec, writer: StateStoreWriter, side: Side): OperatorInputExec = {
    val at = input(writer, side)
    val late =
      if (exec.active.isDefined && LateRowFilters.haveLateRows(writer, exec)) Some(lateMillis(writer, side)) else None
    val levels = OperatorInputExec.Watermarks(Some(at), late, notes = own.inputs.get(at).exists(_.keepsLedger))
    if (exec.levels == levels) exec else exec.copy(levels = levels)
  }

  /** Of a batch query in the midst of the streaming one, as in `foreachBatch`, nothing is known. */
  def read(reading: WatermarkExpression): WatermarkExpression =
    readings.get(reading.id).fold(reading)(watermark => reading.withState(WatermarkExpression.Read(watermark)))

  def limit(clocks: SplitClocksExec): SplitClocksExec = {
    val limits = ClockLimits(latestMillis.getOrElse(clocks.clocksId, Long.MaxValue), maxSplits)
    if (clocks.limits.contains(limits)) clocks else clocks.copy(limits = Some(limits))
  }

  private def operator(writer: StateStoreWriter) = OperatorId(writer.stateInfo.get.operatorId)
  private def input(writer: StateStoreWriter, side: Side) = Input(operator(writer), side)
}
