package io.tidemark.core.memory

import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.plan.Floors

/** Changes the last entry of a stopped query, because a person says that a clock is wrong or that a split is gone.
  *
  * A watermark that goes back takes back all that may follow from it. An entry does not say which input a floor, a carried
  * column or a value in state belongs to. So these rules hold for the whole query:
  *
  *   1. A floor or a carried column goes back if it is later than the new watermark and no later than the old one.
  *   1. The rows of the next batch are judged as if no input were idle. So no operator's watermark in that batch is before
  *      the one that judges its rows.
  *   1. A carried value does not hold its column if its row leaves the state nearer to the old watermark than to the new
  *      one, and more than a day after the new one. No watermark would reach that time.
  */
object CorrectEntry {
  private val DayMillis = 24 * 3600 * 1000L

  /** With clocks and watermark of an input no later than a time.
    *
    * @param splits the splits whose clocks go back; `None` for all
    * @param toMillis the time; `None` for the wall clock less the delay, if a clock is ahead of the wall clock
    * @return the same entry if nothing is later
    */
  def takeBack(
      entry: WatermarkEntry,
      name: OriginName,
      splits: Option[Set[Int]],
      toMillis: Option[Long],
      nowMillis: Long): WatermarkEntry = {
    val state = entry.origins(name)
    val to = toMillis.orElse(latest(state).filter(_ > nowMillis).map(_ => nowMillis - delay(state)))
    to.map(state.splits.takenBack(split => splits.forall(_(split)), _)).filter(_ != state.splits).fold(entry) {
      corrected =>
        val shift =
          for (old <- state.watermark.millis; now <- corrected.watermark.millis if now < old) yield Shift(old, now)
        changed(shift.fold(entry)(derived(entry, name, _)), name, withLatest(state, state.copy(splits = corrected)))
    }
  }

  /** Without some splits of an input. Its watermark does not go back. */
  def forget(entry: WatermarkEntry, name: OriginName, splits: Set[Int]): WatermarkEntry = {
    val state = entry.origins(name)
    changed(entry, name, withLatest(state, state.without(splits)))
  }

  private final case class Shift(oldMillis: Long, newMillis: Long)

  private def changed(entry: WatermarkEntry, name: OriginName, state: OriginState): WatermarkEntry = {
    val after = entry.copy(origins = entry.origins.updated(name, state))
    val before = entry.correction.filter(_.batch == entry.batch).fold(Set.empty[OriginName])(_.origins)
    // What the query said of its watermarks is no longer so.
    after.copy(correction = Some(Correction(entry.batch, after.sparkMillis, before + name)), reason = None)
  }

  private def derived(entry: WatermarkEntry, name: OriginName, shift: Shift): WatermarkEntry = entry.copy(
    decision = entry.decision.copy(
      origins = entry.decision.origins.map { case (origin, at) =>
        origin -> (if (origin == name) taken(at, shift) else at).active
      },
      floors = taken(entry.decision.floors, shift)),
    floors = taken(entry.floors, shift),
    ledgers = entry.ledgers.map { case (input, ledger) => input -> taken(ledger, shift) })

  private def taken(floors: Floors, shift: Shift): Floors = {
    def all[K](watermarks: Map[K, Watermark]) = watermarks.map { case (key, at) => key -> taken(at, shift) }
    Floors(all(floors.unions), all(floors.carried), all(floors.inputs))
  }

  private def taken(at: Watermark, shift: Shift): Watermark = {
    def millis(time: Long) = if (time > shift.newMillis && time <= shift.oldMillis) shift.newMillis else time
    at match {
      case Watermark.At(time) => Watermark.At(millis(time))
      case Watermark.Idle(reached) => Watermark.Idle(reached.map(millis))
      case Watermark.Unknown => at
    }
  }

  private def taken(ledger: CarriedMinima, shift: Shift): CarriedMinima = {
    val half = (shift.oldMillis - shift.newMillis) / 2
    if (half <= DayMillis) ledger else ledger.copy(buckets = ledger.buckets.rangeTo(shift.newMillis + half))
  }

  /** The largest event time goes back as far as the latest clock does. */
  private def withLatest(before: OriginState, after: OriginState): OriginState = after.copy(maxEventTimeMillis =
    for (largest <- before.maxEventTimeMillis)
      yield latest(after).filter(now => latest(before).exists(now < _)).fold(largest) { now =>
        math.min(largest, now + delay(before))
      })

  private def latest(state: OriginState): Option[Long] = (state.splits.largest ++ state.watermark.millis).maxOption

  /** How far the latest clock is behind the largest event time. */
  private def delay(state: OriginState): Long =
    (for (largest <- state.maxEventTimeMillis; clock <- latest(state))
      yield math.max(0L, largest - clock)).getOrElse(0L)
}
