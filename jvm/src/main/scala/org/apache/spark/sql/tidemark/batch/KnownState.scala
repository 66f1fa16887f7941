package org.apache.spark.sql.tidemark.batch

import io.tidemark.core.{Input, OperatorId}
import io.tidemark.core.calls.CallStats
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.execution.streaming.operators.stateful.{StateStoreSaveExec, StateStoreWriter}
import org.apache.spark.sql.tidemark.exec.calls.CallMetricsExec
import org.apache.spark.sql.tidemark.exec.eviction.SkipsScans
import org.apache.spark.sql.tidemark.exec.order.HoldExec

/** What one run knows of the state of its operators.
  *
  * @param windows of each aggregation that has run
  * @param rows how many rows each operator had after the last batch
  * @param evictedMillis up to where each input's state was evicted (ms)
  * @param held the rows that wait, for operators in which rows do
  * @param skippedScans how many batches have not scanned an input's state, for those that may leave it out
  * @param haveEmitted the operators that have emitted rows
  * @param calls the asynchronous calls of each column
  */
private[tidemark] final case class KnownState(
    windows: Map[OperatorId, WindowState],
    rows: Map[OperatorId, Long],
    evictedMillis: Map[Input, Long],
    held: Map[OperatorId, KnownState.Held],
    skippedScans: Map[Input, Long],
    haveEmitted: Set[OperatorId] = Set.empty,
    calls: Map[String, KnownState.Calls] = Map.empty) {

  /** The same after another batch.
    * @param eviction the watermarks of that batch
    */
  def after(seen: KnownState.OfBatch, eviction: OperatorWatermarks): KnownState = KnownState(
    windows ++ seen.windows.map { case (id, now) => id -> windows.get(id).fold(now)(_.and(now)) },
    seen.rows,
    evictedMillis ++
      (for {
        (input, watermarks) <- eviction.inputs if !seen.unscanned(input)
        evicted <- watermarks.evicted
      } yield input -> evicted.watermark.sparkMillis),
    held ++ seen.held,
    skippedScans ++ seen.unscanned.map(input => input -> (skippedScans.getOrElse(input, 0L) + 1)),
    haveEmitted ++ seen.haveEmitted,
    calls ++ seen.calls.collect {
      case (column, now) if now.calls > 0 || !calls.contains(column) =>
        column -> KnownState.Calls(now, calls.get(column).fold(CallStats.none)(_.all) + now)
    })
}

private[tidemark] object KnownState {
  val atStart: KnownState = KnownState(Map.empty, Map.empty, Map.empty, Map.empty, Map.empty)

  /** What the plan of a batch says when the batch has ended.
    * @param unscanned the inputs whose state was not scanned, so that what has expired is still in it
    * @param haveEmitted the operators that have emitted rows
    * @param calls the asynchronous calls of each column
    */
  final case class OfBatch(
      windows: Map[OperatorId, WindowState],
      rows: Map[OperatorId, Long],
      held: Map[OperatorId, Held],
      unscanned: Set[Input],
      haveEmitted: Set[OperatorId],
      calls: Map[String, CallStats] = Map.empty)

  /** @param last those of the last batch that had any
    * @param all those of this run
    */
  final case class Calls(last: CallStats, all: CallStats)

  /** Rows that wait for the watermark, over all partitions.
    * @param micros the smallest and the largest event time among them (µs); `None` if there are none
    */
  final case class Held(rows: Long, bytes: Long, micros: Option[(Long, Long)])

  def ofBatch(operators: Seq[StateStoreWriter], calls: Seq[CallMetricsExec]): OfBatch = {
    val byId = operators.map(operator => OperatorId(operator.stateInfo.get.operatorId) -> operator)
    OfBatch(
      byId.collect { case (id, save: StateStoreSaveExec) => id -> WindowState.of(save) }.toMap,
      byId.map { case (id, operator) => id -> operator.longMetric("numTotalStateRows").value }.toMap,
      byId.collect { case (id, hold: HoldExec) => id -> heldBy(hold) }.toMap,
      byId.flatMap {
        case (id, node: SkipsScans) => node.unscanned.map(Input(id, _))
        case _ => Nil
      }.toSet,
      byId.collect { case (id, operator) if operator.longMetric("numOutputRows").value > 0 => id }.toSet,
      calls.groupMapReduce(_.column)(_.stats)(_ + _))
  }

  private def heldBy(hold: HoldExec): Held =
    Held(hold.longMetric("numTotalStateRows").value, hold.longMetric(HoldExec.HeldBytes).value, hold.times.value)
}
