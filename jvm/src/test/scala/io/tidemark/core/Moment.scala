package io.tidemark.core

import Observation.observe

/** A query between two batches, run as the engine runs it: `entry` is all that it remembers. */
private[core] final case class Moment(shape: Shape, entry: Entry) {

  /** What the next batch judges late rows by. */
  lazy val late: Levels = Propagation.levels(shape, entry.decision)

  /** What the next batch closes windows and evicts state by. */
  lazy val now: Levels = Propagation.levels(shape, entry.decide)

  /** After the next batch, which saw this. */
  def next(seen: Observation): Moment = {
    val batch = entry.batch + 1
    copy(entry = observe(entry, batch, timestampMillis = 1000 * batch, entry.decide, now, seen))
  }

  /** As it would be after a crash: all that is left is what was written. */
  def restarted: Moment = Moment(shape, EntryCodec.decode(EntryCodec.encode(entry)))
}

private[core] object Moment {
  def first(shape: Shape): Moment = Moment(shape, Entry.initial(Plans.names(shape), -1L, 0L, 0L))
}
