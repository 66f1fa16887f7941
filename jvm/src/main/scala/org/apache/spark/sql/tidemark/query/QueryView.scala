package org.apache.spark.sql.tidemark.query

import java.util.UUID

import io.tidemark.TidemarkError
import io.tidemark.core.{Input, OperatorId, OriginName}
import io.tidemark.core.memory.{BatchStart, OriginRules, WatermarkEntry}
import io.tidemark.core.plan.Decision
import io.tidemark.core.splits.Splits

import org.apache.spark.sql.tidemark.columns.{PlanOrigin, PlanOrigins}
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.planning.PlanShapeBuilder

/** What can be said of a query, as immutable data. A report is made from it only when somebody asks for one. */
private[tidemark] final case class QueryView(id: UUID, runId: UUID, name: Option[String], state: QueryView.State)

private[tidemark] object QueryView {
  sealed trait State {

    /** The same for any thread. The splits of an entry change with the next batch, and belong to the query's own thread, so
      * this copies them, once for each entry.
      */
    def detached: State
  }

  final case class LeftToSpark(reason: String) extends State {
    override def detached: LeftToSpark = this
  }

  /** Until the first batch of a run is planned: what the checkpoint's last entry has. */
  final case class Waiting(recalled: Recalled) extends State {
    override def detached: Waiting = copy(recalled.copy(entry = recalled.entry.detached))
  }

  /** @param lateRows rows of each operator's inputs that were late since this run began
    * @param windows what this run knows of the windows in the state of each aggregation
    * @param notes what a user should know of the query, though it runs
    * @param outputs what the query has noted of its own time
    */
  final case class Planned(
      snapshot: Snapshot,
      origins: PlanOrigins,
      lateRows: Map[Input, LateRows.Total],
      windows: Map[OperatorId, WindowState],
      notes: Seq[TidemarkError],
      outputs: Seq[OutputMarks.Said] = Nil)
      extends State {
    override def detached: Planned = copy(snapshot = snapshot.copy(entry = snapshot.entry.detached))

    /** The same after a batch has ended, with the late rows of that batch. */
    def after(
        batch: Long,
        entry: WatermarkEntry,
        late: Map[Input, LateRows],
        windows: Map[OperatorId, WindowState]): Planned = copy(
      windows = windows,
      snapshot = snapshot.copy(entry = entry, decision = entry.standing, decidedAt = None),
      lateRows = lateRows ++ late.collect {
        case (input, more) if more.rows > 0 || !lateRows.contains(input) =>
          val before = lateRows.get(input).fold(LateRows.none)(_.all)
          input -> LateRows.Total(before + more, more, batch)
      })
  }

  val noLateRows: Map[Input, LateRows.Total] = Map.empty

  /** @param plan the query's plan in the last batch
    * @param entry the memory after the last batch that has ended
    * @param decision what the next batch uses, as far as it is decided
    * @param decidedAt when that was decided; `None` if no split has become idle since the last batch ended
    */
  final case class Snapshot(
      plan: PlanShapeBuilder.Translated,
      entry: WatermarkEntry,
      decision: Decision,
      decidedAt: Option[BatchStart],
      rules: Map[OriginName, OriginRules]) {

    /** The splits of an origin at the time of the decision, and not when the last batch ended. */
    def splits(one: PlanOrigin): Splits = decidedAt.fold(entry.splitsOf(one.name)) { at =>
      entry.splitsAt(at, one.name, rules)
    }
  }

  /** @param entry that of the last committed batch
    * @param isRestart whether an earlier run has begun a batch
    */
  final case class Recalled(entry: WatermarkEntry, origins: PlanOrigins, isRestart: Boolean)
}
