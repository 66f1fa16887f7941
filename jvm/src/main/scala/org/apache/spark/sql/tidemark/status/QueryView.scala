package org.apache.spark.sql.tidemark.status

import java.time.ZoneId
import java.util.UUID

import io.tidemark.TidemarkError
import io.tidemark.core.{Input, OperatorId, OriginName}
import io.tidemark.core.calls.CallStats
import io.tidemark.core.history.{History, Moment}
import io.tidemark.core.memory.{BatchStart, OriginRules, OriginState, WatermarkEntry}
import io.tidemark.core.plan.{Decision, OperatorWatermarks, Propagation}
import io.tidemark.core.splits.Splits
import io.tidemark.core.why.{Finding, Situation, Verdict}

import org.apache.spark.sql.tidemark.batch.KnownState
import org.apache.spark.sql.tidemark.columns.{OriginsOfPlan, PlanOrigin}
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.marks.{NotedView, OutputMarks}
import org.apache.spark.sql.tidemark.planning.{OperatorOrder, PlanShapeBuilder}

/** An immutable snapshot of a query, from which reports are rendered on request.
  * @param zone the session's time zone, in which people read times
  * @param findings what the check at the start has found in the plan
  * @param hasEnded whether the run has come to its end
  * @param failure with what error it has ended, if with one
  */
private[tidemark] final case class QueryView(
    id: UUID,
    runId: UUID,
    name: Option[String],
    zone: ZoneId,
    findings: Seq[Finding],
    state: QueryView.State,
    hasEnded: Boolean = false,
    failure: Option[QueryView.Failure] = None)

private[tidemark] object QueryView {
  sealed trait State {

    /** The same for any thread. The splits of an entry change with the next batch, and belong to the query's own thread, so
      * this copies them, once for each entry.
      */
    def detached: State
  }

  /** @param batch the one that was not committed, if it is known; @param what the first line of the error */
  final case class Failure(batch: Option[Long], what: String)

  /** A query without a watermark, which Tidemark has not taken over.
    * @param orders in what order operators read their rows, for those whose result depends on it
    * @param calls the asynchronous calls of each column in the last batch that has begun
    */
  final case class NoWatermark(orders: Map[OperatorId, OperatorOrder], calls: Map[String, CallStats]) extends State {
    override def detached: NoWatermark = this
  }

  /** A query that has failed before anything was read of its checkpoint. */
  case object NothingKnown extends State {
    override def detached: NothingKnown.type = this
  }

  final case class LeftToSpark(reason: String) extends State {
    override def detached: LeftToSpark = this
  }

  /** Until the first batch of a run is planned: what the checkpoint's last entry has. */
  final case class Waiting(restored: RestoredEntry) extends State {
    override def detached: Waiting = copy(restored.copy(entry = restored.entry.detached))
  }

  /** @param lateRows rows of each operator's inputs that were late since this run began, and were dropped
    * @param passedRows those that were late, and were emitted nonetheless
    * @param known what this run knows of the state of the operators
    * @param hints what a user should know of the query, though it runs
    * @param run its output mode, whether it runs no-data batches, and whether its time counts as silence
    * @param lastRows of each operator's input its rows in the last batch that had any rows
    * @param recentRows the same of the last few batches that had any rows of the input, the oldest first
    * @param totals of each input, after the last batch
    * @param reason why nothing comes out, after the last batch for which that was worked out
    * @param outputs what the query has noted of its own time
    * @param noted what was found last in the mark logs of its inputs
    * @param orders in what order operators read their rows, for those whose result depends on it
    * @param history what the watermarks of this run have been; `None` if that is not kept
    */
  final case class Planned(
      snapshot: Snapshot,
      origins: OriginsOfPlan,
      lateRows: Map[Input, LateRows.Total],
      passedRows: Map[Input, LateRows.Total],
      known: KnownState,
      hints: Seq[TidemarkError],
      run: Run,
      lastRows: Map[Input, Situation.Rows] = Map.empty,
      recentRows: Map[Input, Vector[Situation.Rows]] = Map.empty,
      totals: Map[OriginName, Totals] = Map.empty,
      reason: Option[Verdict] = None,
      outputs: Seq[OutputMarks.Status] = Nil,
      noted: Map[OriginName, NotedView] = Map.empty,
      seenOnce: Map[OriginName, Int] = Map.empty,
      orders: Map[OperatorId, OperatorOrder] = Map.empty,
      history: Option[History] = None)
      extends State {
    override def detached: Planned = copy(snapshot = snapshot.copy(entry = snapshot.entry.detached))

    /** The same after a batch has ended, with the late rows of that batch. */
    def after(
        batch: Long,
        endMillis: Long,
        entry: WatermarkEntry,
        late: LateRows.BatchLateRows,
        rows: Map[Input, Situation.Rows],
        known: KnownState): Planned = {
      val now = advanced(batch, entry, late, rows, known)
      now.copy(history = history.map(past => past.after(moment(now, endMillis, late.dropped, past.names))))
    }

    private def advanced(
        batch: Long,
        entry: WatermarkEntry,
        late: LateRows.BatchLateRows,
        rows: Map[Input, Situation.Rows],
        known: KnownState): Planned = copy(
      known = known,
      lastRows = if (rows.exists(_._2.all > 0)) rows else lastRows,
      recentRows = recentRows ++ rows.collect {
        case (input, now) if now.all > 0 =>
          input -> (recentRows.getOrElse(input, Vector.empty) :+ now).takeRight(Recent)
      },
      totals = QueryView.totalsOf(entry),
      snapshot = snapshot.copy(entry = entry, decision = entry.standing, decidedAt = None),
      lateRows = totals(lateRows, late.dropped, batch),
      passedRows = totals(passedRows, late.passed, batch))

    private def totals(all: Map[Input, LateRows.Total], now: Map[Input, LateRows], batch: Long) =
      all ++ now.collect {
        case (input, more) if more.rows > 0 || !all.contains(input) =>
          val before = all.get(input).fold(LateRows.none)(_.all)
          input -> LateRows.Total(before + more, more, batch)
      }
  }

  /** @param late the late rows of the batch that has ended */
  private def moment(query: Planned, endMillis: Long, late: Map[Input, LateRows], names: Seq[OriginName]): Moment =
    Moment(
      query.snapshot.entry.batch,
      endMillis,
      late.values.map(_.rows).sum,
      query.known.rows.values.sum,
      names.map { name =>
        val totals = query.totals.getOrElse(name, Totals.none)
        val reached = query.snapshot.decision.origin(name).millis.filter(_ => totals.hasTimes)
        Moment.InputMoment(reached, totals.maxEventTimeMillis, totals.active, totals.idle)
      })

  def totalsOf(entry: WatermarkEntry): Map[OriginName, Totals] = entry.origins.map { case (name, state) =>
    name -> Totals.of(state)
  }

  // Over how many batches rows count that are lost again and again.
  private val Recent = 20

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

    /** The watermarks by which the next batch evicts state. */
    lazy val levels: OperatorWatermarks = Propagation.levels(plan.shape, decision)

    /** Those by which the last batch has evicted it that has ended. */
    lazy val used: OperatorWatermarks = Propagation.levels(plan.shape, entry.decision)

    /** The splits of an origin at the time of the decision, and not when the last batch ended. */
    def splits(planOrigin: PlanOrigin): Splits = decidedAt.fold(entry.splitsOf(planOrigin.name)) { at =>
      entry.splitsAt(at, planOrigin.name, rules)
    }
  }

  /** An input after a batch, as plain numbers: another thread may read no splits.
    * @param largestClockMillis the clock of the split that is furthest ahead
    * @param active the splits that are neither idle nor catch up
    * @param hasTimes whether its watermark says something
    */
  final case class Totals(
      maxEventTimeMillis: Option[Long],
      largestClockMillis: Option[Long],
      active: Int,
      catchingUp: Int,
      idle: Int,
      farAheadRows: Long,
      hasTimes: Boolean) {
    def splits: Int = active + catchingUp + idle
  }

  object Totals {
    val none: Totals = of(OriginState.initial)

    def of(state: OriginState): Totals = Totals(
      state.maxEventTimeMillis.filter(_ => state.hasTimes),
      state.splits.largest.filter(_ => state.hasTimes),
      state.splits.active - state.splits.catchingUp,
      state.splits.catchingUp,
      state.splits.idle,
      state.farAheadRows,
      state.hasTimes)
  }

  /** @param emitsAll whether every batch emits all results (output mode complete)
    * @param runsNoDataBatches whether a batch runs when something is due and no row has arrived
    * @param countsSilence whether the time of this run may make an input idle
    * @param next when a batch may begin after the last one
    * @param beginsWithDue whether the next run begins with what is due, also if no row has arrived
    */
  final case class Run(
      emitsAll: Boolean,
      runsNoDataBatches: Boolean,
      countsSilence: Boolean,
      next: Situation.NextBatch = Situation.NextBatch.Soon,
      beginsWithDue: Boolean = false)

  /** @param entry that of the last committed batch
    * @param isRestart whether an earlier run has begun a batch
    * @param countsSilence whether the time of this run may make an input idle
    * @param beginsWithDue whether the run begins with what is due, also if no row has arrived
    */
  final case class RestoredEntry(
      entry: WatermarkEntry,
      origins: OriginsOfPlan,
      isRestart: Boolean,
      countsSilence: Boolean,
      beginsWithDue: Boolean = false)
}
