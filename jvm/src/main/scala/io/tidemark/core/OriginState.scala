package io.tidemark.core

/** What is known of one origin when a batch has ended.
  *
  * @param splits its splits; an input that is not split has one, once it is known
  * @param splitBy what the input is split by
  * @param maxEventTimeMillis the largest event time seen so far (floor, ms since the epoch)
  * @param sinceMillis from when on it is counted that it says nothing: the end of the query's first batch, ms
  * @param waiting whether an admission limit held rows back that were there when the batch began
  * @param farAheadRows rows whose event time was too far ahead to be believed
  * @param silent whether it is idle as a whole, though some of its splits are not: it is until it is heard
  */
final case class OriginState(
    splits: Splits,
    maxEventTimeMillis: Option[Long] = None,
    sinceMillis: Option[Long] = None,
    waiting: Boolean = false,
    farAheadRows: Long = 0L,
    splitBy: Seq[String] = Nil,
    silent: Boolean = false) {

  import OriginState.Judged

  /** As it stands, with no split falling silent. */
  def watermark: Watermark = if (silent) Watermark.Idle(splits.watermark.millis) else splits.watermark

  /** Its watermark in a batch that is decided at this time. */
  def watermarkAt(time: OriginState.Time, rules: OriginRules): Watermark =
    judged(time, rules).fold(watermark) { case Judged(all, silence) =>
      val at =
        if (all.size > 0) all.watermarkSince(silence.splitsSinceMillis, isSilent(all, silence, time))
        else if (sinceMillis.exists(_ <= silence.wholeSinceMillis)) Watermark.Idle(watermark.millis)
        else watermark
      advanced(at, silence.untilMillis, rules)
    }

  private def isSilent(all: Splits, silence: Silence, time: OriginState.Time): Boolean =
    silent && !OriginState.isAboutToSpeak(time.unread) || all.allSilentSince(silence.wholeSinceMillis)

  /** Its splits in that batch. */
  def splitsAt(time: OriginState.Time, rules: OriginRules): Splits =
    judged(time, rules)
      .fold(splits) { case Judged(all, silence) => all.idleSince(silence.splitsSinceMillis, rules.onReturn) }
      .atLeast(watermarkAt(time, rules))

  /** Splits, and whose silence counts; `None` where nobody falls silent. */
  private def judged(time: OriginState.Time, rules: OriginRules): Option[Judged] =
    for (after <- rules.idleAfterMillis; until <- listenedUntil(time))
      yield Judged(awake(time, rules), Silence.of(splits, until, after, rules.whenIdle))

  /** Until when it is known who has said nothing. Of nobody knows which split are rows that are about to be read, nor
    * whether a filter lets them pass: known is what the batch before has read, which is all that was there when it began;
    * and nothing at all, if a limit held rows back then.
    */
  private def listenedUntil(time: OriginState.Time): Option[Long] = time.unread match {
    case Some(Unread.Somewhere) if waiting => None
    case Some(Unread.Somewhere) => Some(math.min(time.lastStartMillis, time.nowMillis))
    case _ => Some(time.nowMillis)
  }

  /** Up to when it is known that nobody has said anything: rows that are about to be read have come since. */
  def foundUntil(time: OriginState.Time): Option[Long] =
    if (OriginState.isAboutToSpeak(time.unread)) Some(math.min(time.lastStartMillis, time.nowMillis))
    else listenedUntil(time)

  private def awake(time: OriginState.Time, rules: OriginRules): Splits = time.unread match {
    case Some(Unread.In(some)) => splits.awake(some, time.nowMillis, rules.onReturn)
    case _ => splits
  }

  /** In steps: each is a batch, and there should not be one every moment because of the clock alone. */
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
  val unheard: OriginState = OriginState(Splits.none)

  /** When a batch is decided.
    * @param nowMillis its processing time
    * @param lastStartMillis that of the batch before
    * @param unread rows of this origin that it is about to read
    */
  final case class Time(nowMillis: Long, lastStartMillis: Long, unread: Option[Unread])

  private final case class Judged(splits: Splits, silence: Silence)

  /** Whether the source says of which splits there are rows in the batch. */
  def isAboutToSpeak(unread: Option[Unread]): Boolean = unread match {
    case Some(Unread.In(some)) => some.nonEmpty
    case _ => false
  }

  /** One that has got as far as this, nobody knows by which splits. */
  def reached(watermark: Watermark): OriginState = OriginState(Splits.none.atLeast(watermark))
}
