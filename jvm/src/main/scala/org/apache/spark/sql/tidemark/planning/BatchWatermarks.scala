package org.apache.spark.sql.tidemark.planning

import java.util.UUID

import io.tidemark.core.{Input, OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.tidemark.exec.{ObservedFields, OperatorInputExec, SplitClocksExec}
import org.apache.spark.sql.tidemark.exec.clocks.ClockLimits
import org.apache.spark.sql.tidemark.exec.eviction.WindowGrid
import org.apache.spark.sql.tidemark.exec.order.HoldExec
import org.apache.spark.sql.tidemark.functions.WatermarkExpression

/** What one batch writes into its plan: late watermarks of the batch before, eviction watermarks of its own.
  *
  * @param label the query's name, for messages
  * @param late the watermarks of the batch before, by which rows are late
  * @param eviction the watermarks of this batch, by which state is evicted
  * @param hasRunPrevious whether this run has executed the batch before: stock Spark, which evicts less, may have
  * @param readings what expressions of the plan read, by their ids
  * @param scansWhenDue whether an aggregation by windows scans its state only if a window is due
  * @param windows when the windows end that this run may have in state, for aggregations that have run in it; `None` for
  *   one that may also have others
  * @param slack whether expired state may wait for a later batch
  * @param latestMillis event times after it move no clock (ms), by the id of the clocks. Clocks without one have no limit
  * @param promised the inputs of operators to which no late rows should come, as writers have noted their times, each
  *   with the origins of its watermark
  * @param observed what the batch's progress says beside its late rows
  */
private[tidemark] final case class BatchWatermarks(
    label: String,
    late: OperatorWatermarks,
    eviction: OperatorWatermarks,
    hasRunPrevious: Boolean,
    readings: Map[UUID, WatermarkExpression.State],
    scansWhenDue: Boolean,
    windows: Map[OperatorId, Option[WindowGrid]],
    slack: EvictionSlack,
    latestMillis: Map[UUID, Long],
    maxSplits: Int,
    promised: Map[Input, Seq[OriginName]],
    observed: ObservedFields) {

  def knows(writer: StateStoreWriter, side: Side): Boolean = eviction.inputs.contains(input(writer, side))

  def progress(writer: StateStoreWriter): Long = eviction.progress(operator(writer)).getOrElse(0L)

  /** Rows at or before it are late (ms). Undefined is 0, as in Spark: event time begins with the epoch. */
  def lateMillis(writer: StateStoreWriter, side: Side): Long =
    late.inputs.get(input(writer, side)).fold(0L)(_.input.watermark.sparkMillis)

  /** The state of that side is evicted up to here (ms); `None` if it never is. */
  def evictedMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    evicted(eviction, writer, side).map(_.sparkMillis)

  /** The same by the watermarks of the batch before. */
  def lateEvictedMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    evicted(late, writer, side).map(_.sparkMillis)

  /** Whether there is a watermark by which an operator with one input evicts its state. */
  def evicts(writer: StateStoreWriter): Boolean = evicted(eviction, writer, Side.Left).exists(_.millis.nonEmpty)

  /** Up to where the batch before has evicted it; `None` where that is not known. */
  def evictedBeforeMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    if (!hasRunPrevious) None
    else evicted(late, writer, side).flatMap(_.millis)

  private def evicted(in: OperatorWatermarks, writer: StateStoreWriter, side: Side): Option[Watermark] =
    in.inputs.get(input(writer, side)).flatMap(_.evicted).map(_.watermark)

  /** The node with this batch's watermarks, and with the columns of [[OperatorInput]]. */
  def fill(exec: OperatorInputExec, writer: StateStoreWriter, side: Side): SparkPlan = {
    val at = input(writer, side)
    val lateMillis =
      if (exec.active.isDefined && ChooseLateRowRule.haveLateRows(writer, exec)) Some(this.lateMillis(writer, side))
      else None
    val (named, splitBy) = if (lateMillis.isEmpty) exec -> Nil else SplitColumns.named(exec)
    val watermarks =
      OperatorInputExec.Watermarks(
        Some(at),
        lateMillis,
        ChooseLateRowRule.passesLateRows(writer),
        eviction.inputs.get(at).exists(_.keepsLedger),
        splitBy)
    val filled = if (named.watermarks == watermarks) named else named.copy(watermarks = watermarks)
    if (named eq exec) filled else ProjectExec(exec.output, filled)
  }

  /** A batch query inside `foreachBatch` has no value here, and its expression stays as it is. */
  def read(reading: WatermarkExpression): WatermarkExpression =
    readings.get(reading.id).fold(reading)(reading.withState)

  def limit(clocks: SplitClocksExec): SplitClocksExec = {
    val limits = ClockLimits(latestMillis.getOrElse(clocks.clocksId, Long.MaxValue), maxSplits)
    if (clocks.limits.contains(limits)) clocks else clocks.copy(limits = Some(limits))
  }

  /** Late rows that are passed on do not wait, also those up to 1970 before there is a watermark. */
  def release(hold: HoldExec): HoldExec = {
    val late = Option.unless(hold.order.dropsLate)(lateMillis(hold, Side.Left))
    hold.withWatermarks(HoldExec.Watermarks((evicted(eviction, hold, Side.Left).flatMap(_.millis) ++ late).maxOption))
  }

  /** Whether the state of that side may be left as it is in this batch, where no row can tell.
    * @param time the event-time column by which the side is evicted
    */
  def mayWait(writer: StateStoreWriter, side: Side, time: Attribute): Boolean =
    slack.mayWait(input(writer, side), eviction, EventTimeMarks.delayMillis(time))

  private def operator(writer: StateStoreWriter) = OperatorId(writer.stateInfo.get.operatorId)
  private def input(writer: StateStoreWriter, side: Side) = Input(operator(writer), side)
}
