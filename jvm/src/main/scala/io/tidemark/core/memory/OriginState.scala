package io.tidemark.core.memory

import io.tidemark.core.Watermark
import io.tidemark.core.noted.WriterState
import io.tidemark.core.splits.{SplitNameTable, Splits}

/** What is known of one origin when a batch has ended.
  *
  * The origin's watermark in the next batch follows in these steps:
  *
  *   1. The time up to which silence is known is the batch's own time. If the batch is about to read rows, and the source
  *      does not say of which splits, it is the start of the batch before. If an admission limit held rows back in that
  *      batch, nothing is known, and no split becomes idle.
  *   1. The splits that have rows in the batch, as the source says, are active.
  *   1. Which other splits are idle, and whether the origin is, follows from the rules of [[Silence]].
  *   1. The watermark is the minimum over the splits that are not idle, and never less than it was. The watermark of an
  *      idle origin stays. With [[WhenIdle.Advance]] it follows the wall clock less the delay, in steps of `idle_after`.
  *
  * @param splits its splits; an input that is not split has one, once it is known
  * @param splitBy what the input is split by
  * @param maxEventTimeMillis the largest event time seen so far (floor, ms since the epoch)
  * @param sinceMillis the end of the query's first batch, ms; silence counts from there while no split is known
  * @param waiting whether an admission limit held rows back that had arrived before the batch began
  * @param farAheadRows rows whose event time was too far ahead of the wall clock to count
  * @param silent whether it is idle as a whole, though some of its splits are not; it is until it has rows
  * @param uncounted the times by which the last active times of its splits were made later
  * @param writers how far the marks of each writer have been passed, if the clocks are noted by writers
  * @param sources what it reads, if its key alone may not find it again
  */
final case class OriginState(
    splits: Splits,
    maxEventTimeMillis: Option[Long] = None,
    sinceMillis: Option[Long] = None,
    waiting: Boolean = false,
    farAheadRows: Long = 0L,
    splitBy: Seq[String] = Nil,
    silent: Boolean = false,
    writers: Map[String, WriterState] = Map.empty,
    uncounted: Uncounted = Uncounted.none,
    sources: Option[OriginSources] = None) {

  import OriginState.Judged

  /** Where it has rows that a batch is about to read. Of a noted origin these are the writers that have marks
    * ahead. The log has been read to its end, so the other writers have nothing there.
    */
  def unread(rows: Option[Unread]): Option[Unread] =
    if (writers.isEmpty) rows
    else
      rows.map(_ =>
        Unread.In(writers.collect { case (name, state) if state.hasPending => OriginState.split(name) }.toSeq))

  /** Whether its watermark says something: Spark counts a null as the time 0, so rows without event times make one too. */
  def hasTimes: Boolean = writers.nonEmpty || !maxEventTimeMillis.contains(0L)

  /** When a split really had its last rows; `None` if that is not known, or if it never had any. */
  def lastRows(split: Int): Option[Long] =
    splits.clock(split).flatMap(_ => uncounted.lastActive(split, splits.lastActive(split)))

  /** For how long a split was silent when the batch had ended, as far as silence counts. */
  def silentMillis(split: Int, endMillis: Long, rules: OriginRules): Long =
    math.max(0L, silentUntil(endMillis, rules) - splits.lastActive(split))

  /** Up to when silence counts: where a pause of the whole input is not silence, up to when any split had rows. */
  def silentUntil(endMillis: Long, rules: OriginRules): Long =
    if (rules.whenIdle == WhenIdle.Hold) splits.lastActiveOfAll.getOrElse(endMillis) else endMillis

  /** When any split really had rows; `None` if that is not known, or if none ever had any. */
  def lastRowsOfAll: Option[Long] = splits.lastRows.flatMap { counted =>
    if (uncounted.spans.isEmpty) Some(counted)
    else Iterator.range(0, splits.size).filter(splits.lastActive(_) == counted).flatMap(lastRows).maxOption
  }

  /** Without some splits; the others get new numbers. Its watermark is no earlier. */
  def without(forgotten: Int => Boolean): OriginState = {
    val kept = (0 until splits.size).filterNot(forgotten).toArray
    copy(splits = splits.keeping(kept), uncounted = uncounted.keeping(kept))
  }

  /** Its watermark if no further split becomes idle. */
  def watermark: Watermark = if (silent) Watermark.Idle(splits.watermark.millis) else splits.watermark

  /** Its watermark in a batch that is decided at this time: steps 1 to 4. */
  def watermarkAt(time: OriginState.Time, rules: OriginRules): Watermark =
    judged(time, rules).fold(watermark)(watermarkOf(_, time, rules))

  private def watermarkOf(judged: Judged, time: OriginState.Time, rules: OriginRules): Watermark = {
    val Judged(all, silence) = judged
    val at =
      if (all.size > 0) all.watermarkSince(silence.splitsSinceMillis, isSilent(all, silence, time))
      else if (sinceMillis.exists(_ <= silence.wholeSinceMillis)) Watermark.Idle(watermark.millis)
      else watermark
    advanced(at, silence.untilMillis, rules)
  }

  private def isSilent(all: Splits, silence: Silence, time: OriginState.Time): Boolean =
    silent && !OriginState.hasUnreadSplits(time.unread) || all.allSilentSince(silence.wholeSinceMillis)

  /** Its splits in that batch: steps 1 to 3. */
  def splitsAt(time: OriginState.Time, rules: OriginRules): Splits =
    judged(time, rules).fold(splits) { judged =>
      val reached = watermarkOf(judged, time, rules)
      judged.splits.idleSince(judged.silence.splitsSinceMillis, rules.onReturn).atLeast(reached)
    }

  /** The splits, and what silence makes idle; `None` if nothing becomes idle. */
  private def judged(time: OriginState.Time, rules: OriginRules): Option[Judged] =
    for (after <- rules.idleAfterMillis; until <- listenedUntil(time))
      yield Judged(awake(time, rules), Silence.of(splits, until, after, rules.whenIdle))

  /** Step 1. A filter may drop the rows that a batch is about to read, so they prove nothing. The batch before has read
    * all rows that had arrived when it began, unless an admission limit held rows back.
    */
  private def listenedUntil(time: OriginState.Time): Option[Long] = time.unread match {
    case Some(Unread.Somewhere) if waiting => None
    case Some(Unread.Somewhere) => Some(math.min(time.lastStartMillis, time.nowMillis))
    // The log of marks was last read when the batch before began.
    case Some(_) if writers.nonEmpty => Some(math.min(time.lastStartMillis, time.nowMillis))
    case _ => Some(time.nowMillis)
  }

  /** The time up to which it is known that the origin had no rows. Rows that are about to be read arrived after it. */
  def foundUntil(time: OriginState.Time): Option[Long] =
    if (OriginState.hasUnreadSplits(time.unread)) Some(math.min(time.lastStartMillis, time.nowMillis))
    else listenedUntil(time)

  /** Step 2. */
  private def awake(time: OriginState.Time, rules: OriginRules): Splits = time.unread match {
    case Some(Unread.In(some)) => splits.awake(some, time.nowMillis, rules.onReturn)
    case _ => splits
  }

  /** Step 4 for an idle origin. Each step of the clock is a batch of its own, so there are few steps. */
  private def advanced(at: Watermark, nowMillis: Long, rules: OriginRules): Watermark =
    (at, rules.idleAfterMillis) match {
      case (Watermark.Idle(reached), Some(step)) if rules.whenIdle == WhenIdle.Advance =>
        val clock = nowMillis - rules.delayMillis
        val from = reached.getOrElse(0L)
        val steps = Math.floorDiv(clock - from, step)
        if (steps > 0 || reached.isEmpty) Watermark.Idle(Some(from + steps * step)) else at
      case _ => at
    }
}

object OriginState {
  val initial: OriginState = OriginState(Splits.none)

  /** The encoded name of a writer's split. */
  def split(writer: String): Array[Byte] = SplitNameTable.encode(Seq(Some(writer)))

  /** When a batch is decided.
    * @param nowMillis its processing time
    * @param lastStartMillis the processing time of the batch before
    * @param unread where the origin has rows that the batch is about to read
    */
  final case class Time(nowMillis: Long, lastStartMillis: Long, unread: Option[Unread])

  private final case class Judged(splits: Splits, silence: Silence)

  /** Whether the source says of which splits there are rows in the batch. */
  def hasUnreadSplits(unread: Option[Unread]): Boolean = unread match {
    case Some(Unread.In(some)) => some.nonEmpty
    case _ => false
  }

  /** An origin at this watermark whose splits are unknown. */
  def reached(watermark: Watermark): OriginState = OriginState(Splits.none.atLeast(watermark))
}
