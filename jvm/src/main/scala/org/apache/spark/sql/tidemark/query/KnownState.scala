package org.apache.spark.sql.tidemark.query

import io.tidemark.core.{Input, OperatorId, Side}
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.execution.streaming.operators.stateful.{StateStoreSaveExec, StateStoreWriter}
import org.apache.spark.sql.tidemark.exec.{PatientDeduplicateExec, PatientJoinExec}

/** What one run knows of the state of its operators.
  *
  * @param windows of each aggregation that has run
  * @param rows how many rows each operator had after the last batch
  * @param evictedMillis up to where each input's state was evicted (ms)
  */
private[tidemark] final case class KnownState(
    windows: Map[OperatorId, WindowState],
    rows: Map[OperatorId, Long],
    evictedMillis: Map[Input, Long]) {

  /** The same after another batch.
    * @param eviction the watermarks of that batch
    */
  def after(seen: KnownState.OfBatch, eviction: OperatorWatermarks): KnownState = KnownState(
    windows ++ seen.windows.map { case (id, now) => id -> windows.get(id).fold(now)(_.and(now)) },
    seen.rows,
    evictedMillis ++
      (for {
        (input, watermarks) <- eviction.inputs if !seen.waiting(input)
        evicted <- watermarks.evicted
      } yield input -> evicted.watermark.sparkMillis))
}

private[tidemark] object KnownState {
  val atStart: KnownState = KnownState(Map.empty, Map.empty, Map.empty)

  /** What the plan of a batch says when the batch has ended.
    * @param waiting the inputs whose expired rows were left in state
    */
  final case class OfBatch(windows: Map[OperatorId, WindowState], rows: Map[OperatorId, Long], waiting: Set[Input])

  def ofBatch(operators: Seq[StateStoreWriter]): OfBatch = {
    val byId = operators.map(operator => OperatorId(operator.stateInfo.get.operatorId) -> operator)
    OfBatch(
      byId.collect { case (id, save: StateStoreSaveExec) => id -> WindowState.of(save) }.toMap,
      byId.map { case (id, operator) => id -> operator.longMetric("numTotalStateRows").value }.toMap,
      byId.flatMap {
        case (id, _: PatientDeduplicateExec) => Seq(Input(id, Side.Left))
        case (id, join: PatientJoinExec) =>
          val predicates = join.stateWatermarkPredicates
          Seq(Side.Left -> predicates.left, Side.Right -> predicates.right).collect { case (side, None) =>
            Input(id, side)
          }
        case _ => Nil
      }.toSet)
  }
}
