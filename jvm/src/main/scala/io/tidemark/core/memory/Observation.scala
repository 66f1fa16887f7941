package io.tidemark.core.memory

import scala.annotation.tailrec

import io.tidemark.core.{CarriedSlot, EventTimeUnits, Input, OriginName, Watermark}
import io.tidemark.core.noted.NotedWriters
import io.tidemark.core.plan.{Decision, Floors, OperatorWatermarks, PlanShape, Propagation}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}

/** What a batch observed.
  *
  * @param origins what it observed of each origin, if anything
  * @param noted the smallest carried values of each input's rows, by bucket
  */
final case class Observation(
    origins: Map[OriginName, Observation.OriginObservation],
    noted: Map[Input, CarriedMinima])

object Observation {

  /** What a batch has seen of one origin.
    *
    * @param times the largest event time of each split that had rows; an input that is not split is one split
    * @param delayMillis how far the clocks are behind these times, ms
    * @param known splits that the source has, with rows or without (encoded names)
    * @param waiting whether an admission limit held rows back that had arrived before the batch began
    * @param farAheadRows rows whose event time moved no clock, because it was too far ahead
    * @param latestMillis the largest event time of all rows
    * @param marks what writers have noted, if the clocks are theirs
    */
  final case class OriginObservation(
      times: MaxEventTimes,
      delayMillis: Long,
      known: Seq[Array[Byte]],
      waiting: Boolean,
      farAheadRows: Long,
      latestMillis: Option[Long],
      marks: Option[NotedWriters]) {

    private[memory] def isActive: Boolean = !times.isEmpty || marks.exists(_.active.nonEmpty)
  }

  object OriginObservation {

    /** What a batch has seen of an input whose clocks are the event times of its rows. */
    def apply(
        times: MaxEventTimes,
        delayMillis: Long,
        known: Seq[Array[Byte]] = Nil,
        waiting: Boolean = false,
        farAheadRows: Long = 0L): OriginObservation =
      OriginObservation(times, delayMillis, known, waiting, farAheadRows, times.max, None)

    /** What a batch has seen of an input that is not split. */
    def whole(maxEventTimeMillis: Long, delayMillis: Long): OriginObservation =
      OriginObservation(MaxEventTimes.whole(maxEventTimeMillis), delayMillis)

    /** What a batch has seen of an input whose clocks are noted by its writers.
      * @param latestMillis the largest event time of its rows
      */
    def noted(marks: NotedWriters, delayMillis: Long, latestMillis: Option[Long]): OriginObservation = {
      val times = new MaxEventTimes
      for ((writer, progress) <- marks.writers; millis <- progress.timeMillis)
        times.observe(OriginState.split(writer), EventTimeUnits.held(millis))
      val known = marks.writers.keys.map(OriginState.split).toSeq
      OriginObservation(times, delayMillis, known, waiting = false, farAheadRows = 0L, latestMillis, Some(marks))
    }
  }

  val nothing: Observation = Observation(Map.empty, Map.empty)

  /** Whether a later no-data batch would let an operator emit or evict, though the next one does not. A carried column
    * leaves its operator one batch after it has come in. What the next batch finds in a mark log counts one batch later.
    * @param seen what the next batch would see
    */
  @tailrec def needsNoDataBatch(
      shape: PlanShape,
      before: WatermarkEntry,
      at: BatchStart,
      rules: Map[OriginName, OriginRules],
      levels: OperatorWatermarks,
      seen: Observation = nothing): Boolean =
    (seen.origins.nonEmpty || levels.inputs.values.exists(_.carried.nonEmpty)) && {
      val decision = before.decide(at, rules)
      val after = observe(before, BatchEnd(before.batch + 1, at, at.millis), decision, levels, seen, rules)
      val further = after.decide(at, rules)
      further != decision && {
        val next = Propagation.levels(shape, further)
        next.inputs.keys.exists(input => next.progress(input.operator) != levels.progress(input.operator)) ||
        needsNoDataBatch(shape, after, at, rules, next, nothing)
      }
    }

  /** What operators work with once further no-data batches make no difference. A carried column arrives at each operator
    * one batch later than at the operator below.
    */
  @tailrec def settled(
      shape: PlanShape,
      before: WatermarkEntry,
      at: BatchStart,
      rules: Map[OriginName, OriginRules]): OperatorWatermarks = {
    val decision = before.decide(at, rules)
    val levels = Propagation.levels(shape, decision)
    if (levels.inputs.values.forall(_.carried.isEmpty)) levels
    else {
      val after = observe(before, BatchEnd(before.batch + 1, at, at.millis), decision, levels, nothing, rules)
      if (after.decide(at, rules) == decision) levels else settled(shape, after, at, rules)
    }
  }

  /** A batch that has ended.
    * @param decided the time when it was decided, and what was known then
    * @param endMillis the time when it ended, by the query's clock
    * @param foundUntil the time (ms) up to which earlier triggers have found that an origin had no rows, if any has
    * @param pausesSinceMillis the earliest time at which a pause can begin. It is the start of the run if the time before
    *   the run counts as silence.
    */
  final case class BatchEnd(
      batch: Long,
      decided: BatchStart,
      endMillis: Long,
      foundUntil: Map[OriginName, Long] = Map.empty,
      pausesSinceMillis: Long = Long.MinValue)

  /** The memory after a batch: a function of the memory before it, what it worked with, and what it saw. */
  def observe(
      before: WatermarkEntry,
      ended: BatchEnd,
      decision: Decision,
      levels: OperatorWatermarks,
      seen: Observation,
      rules: Map[OriginName, OriginRules]): WatermarkEntry = {
    val ledgers = levels.inputs.collect {
      case (input, at) if at.keepsLedger =>
        val all =
          before.ledgers.getOrElse(input, CarriedMinima.empty).add(seen.noted.getOrElse(input, CarriedMinima.empty))
        input -> at.evicted.fold(all)(bound => all.evict(bound.watermark))
    }
    val end = math.max(before.nowOf(ended.decided), ended.endMillis)
    val after = WatermarkEntry(
      ended.batch,
      ended.decided.millis,
      end,
      decision,
      origins(before, ended, decision, end, seen.origins, rules),
      floors(before.floors, decision, levels, ledgers),
      ledgers)
    after.copy(correction = before.correction.map(_.reached(after.sparkMillis)))
  }

  private def floors(
      before: Floors,
      decision: Decision,
      levels: OperatorWatermarks,
      ledgers: Map[Input, CarriedMinima]): Floors = Floors(
    before.unions ++ levels.unions.map { case (slot, at) => slot -> at.atLeast(before.union(slot)) },
    carried(decision, levels, ledgers),
    before.inputs ++ levels.inputs.collect {
      case (input, at) if at.floored => input -> at.input.watermark.active
    })

  private def origins(
      before: WatermarkEntry,
      ended: BatchEnd,
      decision: Decision,
      end: Long,
      seen: Map[OriginName, OriginObservation],
      rules: Map[OriginName, OriginRules]): Map[OriginName, OriginState] =
    before.origins ++ (before.origins.keySet ++ seen.keySet ++ rules.keySet).map { name =>
      val state = before.origins.getOrElse(name, OriginState.initial)
      val time = before.timeOf(ended.decided, name)
      val isActive = seen.get(name).exists(_.isActive) || OriginState.hasUnreadSplits(time.unread)
      val decided = rules.get(name).fold(state.splits)(state.splitsAt(time, _))
      val pause = rules.get(name).filter(_ => isActive).flatMap { rules =>
        val found = (state.foundUntil(time) ++ ended.foundUntil.get(name)).maxOption
        Silence.pause(state.splits, found, rules, ended.pausesSinceMillis, end)
      }
      val splits = pause.fold(decided)(decided.activeLater(_, end))
      val moved = pause.fold(state.uncounted)(state.uncounted.moving(decided, _, end))
      // A mark log is read when a batch begins. A mark that was written later is not a sign of silence.
      val lastActiveMillis = if (rules.get(name).exists(_.noted.nonEmpty)) before.nowOf(ended.decided) else end
      val now = after(state, splits, lastActiveMillis, seen.get(name), rules.get(name))
      val holds = rules.get(name).exists(_.whenIdle == WhenIdle.Hold)
      val hasNew = now.splits.size > splits.size
      val isSilent = holds && decision.origin(name).isIdle && !isActive && !hasNew
      val uncounted =
        seen.get(name).fold(moved)(observation => moved.observed(now.splits, observation.times, lastActiveMillis))
      val observed =
        now.copy(silent = isSilent && now.splits.size > 0 && !now.watermark.isIdle, uncounted = uncounted)
      name -> rules.get(name).fold(observed) { rules =>
        val rested = LeftOutWriters.of(observed, rules, ended.decided.millis)
        seen.get(name).fold(rested)(forgetting(rested, rules, _, before.nowOf(ended.decided)))
      }
    }

  /** Without the splits that have been silent for too long. Those that are expected, or that the source reports, stay. */
  private def forgetting(
      state: OriginState,
      rules: OriginRules,
      seen: OriginObservation,
      nowMillis: Long): OriginState =
    rules.forgetAfterMillis.filterNot(_ => state.waiting).fold(state) { after =>
      val limit = Silence.of(state.splits, nowMillis, after, rules.whenIdle).splitsSinceMillis
      state.splits.forgettable(limit, rules.expected ++ seen.known).fold(state)(state.without)
    }

  private def after(
      state: OriginState,
      splits: Splits,
      end: Long,
      seen: Option[OriginObservation],
      rules: Option[OriginRules]): OriginState = {
    val onReturn = rules.fold[OnReturn](OnReturn.Hold)(_.onReturn)
    // An input without splits is known from the first batch on, because it may become idle before its first row.
    val whole = rules.filter(r => r.splitBy.isEmpty && r.idleAfterMillis.nonEmpty).map(_ => SplitNameTable.Whole)
    val names = rules.toSeq.flatMap(_.expected) ++ whole ++ seen.toSeq.flatMap(_.known)
    val known = splits.withNames(names, end, onReturn)
    val marks = seen.flatMap(_.marks)
    // A writer that comes back holds the watermark before that of the others advances.
    val awake = marks.fold(known)(m => known.awake(m.active.map(OriginState.split), end, onReturn))
    val moved = seen.fold(awake)(h => awake.observe(h.times, h.delayMillis, end, onReturn))
    // An input is not silent while it has rows, even if no writer has noted a time yet.
    val hasRowsBeforeAnyMark = rules.exists(_.noted.nonEmpty) && moved.size == 0 && seen.exists(_.latestMillis.nonEmpty)
    OriginState(
      moved,
      (state.maxEventTimeMillis ++ seen.flatMap(_.latestMillis)).maxOption,
      state.sinceMillis.filterNot(_ => hasRowsBeforeAnyMark).orElse(Some(end)),
      seen.exists(_.waiting),
      state.farAheadRows + seen.fold(0L)(_.farAheadRows),
      rules.fold(state.splitBy)(_.splitBy),
      writers = marks.fold(state.writers)(_.states),
      sources = rules.flatMap(_.sources).orElse(state.sources))
  }

  /** A carried column must not pass the oldest value in state, nor its watermark as it came in with this batch. A row that
    * was on time in this batch may stay in state, and any later batch may emit it.
    */
  private def carried(
      decision: Decision,
      levels: OperatorWatermarks,
      ledgers: Map[Input, CarriedMinima]): Map[CarriedSlot, Watermark] =
    for {
      (input, at) <- levels.inputs
      (in, index) <- at.carried.zipWithIndex
    } yield {
      val slot = CarriedSlot(input, index)
      val inState =
        ledgers.get(input).flatMap(_.oldest(index)).fold[Watermark](Watermark.Idle(None))(v => Watermark.At(v - 1))
      slot -> in.watermark.coalesce(inState).atLeast(decision.floors.carriedColumn(slot))
    }
}
