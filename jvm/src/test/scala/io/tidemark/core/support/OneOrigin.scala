package io.tidemark.core.support

import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.memory.{BatchStart, Observation, OriginRules, OriginState, Unread, WatermarkEntry}
import io.tidemark.core.plan.Propagation
import io.tidemark.core.splits.{MaxEventTimes, SplitNameTable}

/** A query of one origin alone, between two batches. */
private[core] final case class OneOrigin(
    origin: OriginName,
    rules: OriginRules,
    entry: WatermarkEntry = WatermarkEntry.initial(Nil, -1, 0, 0),
    found: Map[OriginName, Long] = Map.empty) {
  private val all = Map(origin -> rules)

  def watermark(now: Long, unread: Option[Unread] = None): Watermark = decision(now, unread).origin(origin)
  def standing: Watermark = entry.standing.origin(origin)
  def state: OriginState = entry.origins(origin)

  /** After a trigger that has run no batch. */
  def trigger(now: Long): OneOrigin = copy(found = entry.foundUntil(BatchStart.at(now), found))

  /** After a batch that was begun and ended then, and saw these splits. */
  def batch(
      start: Long,
      end: Long,
      rows: Seq[(String, Long)] = Nil,
      known: Seq[String] = Nil,
      unread: Option[Unread] = None,
      waiting: Boolean = false): OneOrigin = {
    val times = new MaxEventTimes
    rows.foreach { case (split, time) =>
      times.observe(if (rules.splitBy.isEmpty) SplitNameTable.Whole else OneOrigin.name(split), time)
    }
    val observed = Observation.OriginObservation(times, rules.delayMillis, known.map(OneOrigin.name), waiting)
    val seen = Observation(Map(origin -> observed), Map.empty)
    val shape = Plans.origin("o", 1)
    val worked = decision(start, unread)
    val begun = BatchStart(start, unread.map(origin -> _).toMap)
    val now = entry.foundUntil(begun, found)
    val ended = Observation.BatchEnd(entry.batch + 1, begun, end, now)
    copy(entry = Observation.observe(entry, ended, worked, Propagation.levels(shape, worked), seen, all), found = now)
  }

  /** As it would be after a crash: all that is left is what was written. */
  def restarted: OneOrigin = copy(entry = WholeEntry.decode(WholeEntry.encode(entry)), found = Map.empty)

  private def decision(now: Long, unread: Option[Unread]) =
    entry.decide(BatchStart(now, unread.map(origin -> _).toMap), all)
}

private[core] object OneOrigin {
  def name(split: String): Array[Byte] = SplitNameTable.encode(Seq(Option(split)))
}
