package org.apache.spark.sql.tidemark.status

import io.tidemark.core.EventTimeUnits
import io.tidemark.core.history.History
import io.tidemark.core.memory.{OriginState, WhenIdle}
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.core.why.{Diagnosis, Situation, Verdict}

import org.apache.spark.sql.tidemark.batch.KnownState
import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.marks.NotedView

/** Why nothing comes out of a query, from what is known of it. */
private[tidemark] object Reason {

  /** @param nowMillis the wall clock */
  def of(view: QueryView, nowMillis: Long): Verdict = (view.failure, view.state) match {
    case (Some(failure), planned: QueryView.Planned) =>
      Diagnosis.ofFailed(situation(planned, nowMillis, hasEnded = true), failure.batch, failure.what)
    case (Some(failure), _) => Verdict.Failed(failure.batch, failure.what, None)
    case (None, state) => of(state, nowMillis, view.hasEnded)
  }

  /** @param hasEnded whether no further batch of the run comes */
  def of(state: QueryView.State, nowMillis: Long, hasEnded: Boolean = false): Verdict = state match {
    case QueryView.LeftToSpark(reason) => Verdict.LeftToSpark(reason)
    case _: QueryView.NoWatermark => Verdict.NoWatermark
    case QueryView.NothingKnown => Verdict.NoBatchYet(isRestart = false)
    case QueryView.Waiting(restored) => Verdict.NoBatchYet(restored.isRestart, restored.beginsWithDue)
    case planned: QueryView.Planned if planned.snapshot.entry.batch < 0 => Verdict.NoBatchYet(isRestart = false)
    case planned: QueryView.Planned => Diagnosis.of(situation(planned, nowMillis, hasEnded))
  }

  private def situation(query: QueryView.Planned, nowMillis: Long, hasEnded: Boolean): Situation = {
    val snapshot = query.snapshot
    val shape = snapshot.plan.shape
    Situation(
      shape,
      snapshot.decision,
      query.origins.all.map(input => input.name -> origin(input, query, nowMillis)).toMap,
      query.lastRows,
      query.known.windows.flatMap { case (id, windows) =>
        windows.dueMillis.map(millis =>
          id -> Situation.Due(millis, windows.firstMillis.nonEmpty, windows.nextMillis))
      },
      query.known.held.flatMap { case (id, held) => waiting(held).map(id -> _) },
      query.known.haveEmitted,
      nowMillis,
      query.run.emitsAll,
      query.run.runsNoDataBatches,
      query.run.countsSilence,
      Some(snapshot.used),
      query.recentRows,
      if (hasEnded) Situation.NextBatch.InNextRun(query.run.beginsWithDue) else query.run.next,
      query.lateRows.flatMap { case (input, late) => late.all.splits.most(1).headOption.map(input -> _) })
  }

  private def waiting(held: KnownState.Held): Option[Situation.Held] = held.micros.map { case (first, last) =>
    Situation.Held(held.rows, EventTimeUnits.millisFrom(first), EventTimeUnits.millisFrom(last))
  }

  private def origin(input: PlanOrigin, query: QueryView.Planned, nowMillis: Long): Situation.Origin = {
    val snapshot = query.snapshot
    val now = snapshot.decision.origin(input.name)
    val state = snapshot.entry.origins.getOrElse(input.name, OriginState.initial).copy(splits = snapshot.splits(input))
    val splits = state.splits
    val isSplit = input.rules.splitBy.nonEmpty || input.rules.noted.nonEmpty
    val lastRows = state.lastRowsOfAll
    val behind = new SplitsBehind(input, splits, now)
    val farAhead = splits.largest.filter(clock => isSplit && Situation.isFarAhead(clock, nowMillis))
    Situation.Origin(
      input.name,
      now,
      input.rules.delayMillis,
      state.maxEventTimeMillis,
      lastRows,
      isSplit,
      input.rules.noted.map(_.location),
      splits.largest,
      query.history.flatMap(lastGood(input, _, nowMillis)),
      farAhead.flatMap(splits.withClock).map(split => SplitNameTable.show(splits.name(split))),
      if (isSplit) last(input, state, lastRows, behind, query.noted.get(input.name)) else None,
      input.rules.idleAfterMillis,
      behind.wholeLeftOut(state.sinceMillis),
      input.rules.whenIdle == WhenIdle.Advance,
      input.rules.followsInJoins,
      query.seenOnce.get(input.name))
  }

  private def lastGood(input: PlanOrigin, history: History, nowMillis: Long): Option[Long] = {
    val at = history.names.indexOf(input.name)
    if (at < 0) None
    else history.moments.flatMap(_.input(at).watermarkMillis).filterNot(Situation.isFarAhead(_, nowMillis)).lastOption
  }

  private def last(
      input: PlanOrigin,
      state: OriginState,
      lastRows: Option[Long],
      behind: SplitsBehind,
      noted: Option[NotedView]): Option[Situation.Split] = {
    val splits = state.splits
    behind.waitedFor.headOption.map { split =>
      Situation.Split(
        SplitNameTable.show(splits.name(split)),
        splits.clock(split),
        state.lastRows(split),
        behind.leftOut(split),
        for (writer <- behind.writer(split); view <- noted; waits <- view.waitsFor(writer)) yield waits.toString,
        for {
          writer <- behind.writer(split)
          log <- input.rules.noted
          hint <- noted.flatMap(_.hints(log, Seq(writer)).headOption)
        } yield Situation.Fault(hint.what, hint.fix),
        lastRows.exists(state.lastRows(split).contains))
    }
  }
}
