package io.tidemark.core.splits

import io.tidemark.core.Watermark
import io.tidemark.core.bytes.ByteWriter

/** The splits of one origin, each with its name, its clock and its last active time. Immutable.
  *
  * The [[Coalescer]] knows which splits are idle and what the watermark is. Here splits have names.
  */
final class Splits private (private val names: SplitNameTable, private val clocks: Coalescer) {
  import Splits._

  def size: Int = clocks.size
  def active: Int = clocks.active
  def idle: Int = clocks.idle

  /** The watermark if no further split becomes idle. */
  def watermark: Watermark = watermarkOf(clocks.watermark, clocks.isIdle)

  /** The largest clock of all, ms. */
  def largest: Option[Long] = Some(clocks.largest).filter(_ != Coalescer.NoClock)

  def name(split: Int): Seq[Option[String]] = names(split)
  def encodedName(split: Int): Array[Byte] = names.encoded(split)
  def state(split: Int): Byte = clocks.state(split)
  def clock(split: Int): Option[Long] = Some(clocks.clock(split)).filter(_ != Coalescer.NoClock)
  def lastHeard(split: Int): Long = clocks.lastHeard(split)

  /** The last time at which a split had rows with an event time; `None` if no split has had any. */
  def lastSpoken: Option[Long] = Some(clocks.lastSpoken).filter(_ != Long.MinValue)

  /** The same, or if no split has had any, the last time at which one became known. */
  def lastHeardOfAll: Option[Long] = lastSpoken.orElse(Option.when(size > 0)(clocks.lastHeardOfAll))

  /** Whether no split had rows or became known after `limitMillis`. */
  def allSilentSince(limitMillis: Long): Boolean = size > 0 && clocks.lastHeardOfAll <= limitMillis

  /** Its clock, or [[Coalescer.NoClock]]. */
  private[core] def clockOrNone(split: Int): Long = clocks.clock(split)

  /** The watermark if every split were idle that was last active at `limitMillis` or before. It copies nothing, because
    * every trigger asks for it.
    * @param isIdle whether the origin is idle even if some of its splits are not
    */
  def watermarkSince(limitMillis: Long, isIdle: Boolean = false): Watermark = {
    val prospect = clocks.ifIdleSince(limitMillis)
    watermarkOf(prospect.watermark, prospect.idle || isIdle)
  }

  /** With these splits idle. */
  def idleSince(limitMillis: Long, onReturn: OnReturn): Splits =
    if (limitMillis < clocks.earliestHeard) this
    else changed(onReturn)((_, all) => all.idleSince(limitMillis))

  /** With these splits (encoded names) active, because a batch is about to read rows of them. New names are added. */
  def awake(splits: Seq[Array[Byte]], nowMillis: Long, onReturn: OnReturn): Splits =
    if (splits.isEmpty) this
    else
      withNames(splits, nowMillis, onReturn).changed(onReturn) { (names, all) =>
        splits.foreach(name => all.observe(names.find(name), Coalescer.NoClock, nowMillis))
        all.settle()
      }

  /** With no split idle: each holds the watermark by its clock. */
  def allAwake(onReturn: OnReturn): Splits =
    if (idle == 0) this
    else
      changed(onReturn) { (_, all) =>
        (0 until all.size).filter(all.state(_) == Coalescer.Idle).foreach { split =>
          all.observe(split, Coalescer.NoClock, all.lastHeard(split))
        }
        all.settle()
      }

  /** With these splits (encoded names) known. They hold the watermark until they have rows or are idle. */
  def withNames(splits: Seq[Array[Byte]], nowMillis: Long, onReturn: OnReturn): Splits =
    if (splits.forall(contains)) this
    else {
      val more = names.copy()
      val all = clocks.copy(onReturn)
      splits.foreach(name => if (more.add(name) == all.size) all.add(nowMillis))
      new Splits(more, all)
    }

  /** With what a batch that ended at `nowMillis` has seen of them. */
  def heard(times: MaxEventTimes, delayMillis: Long, nowMillis: Long, onReturn: OnReturn): Splits =
    if (times.isEmpty) this
    else {
      val all = clocks.copy(onReturn)
      // The table of names is shared with the splits before, until there is a new name.
      var known = names
      var number = 0
      while (number < times.size) {
        var split = known.find(times.names, number)
        if (split < 0) {
          if (known eq names) known = names.copy()
          split = known.add(times.names, number)
          all.add(nowMillis)
        }
        // There is no overflow: Spark's times are Longs in µs.
        all.observe(split, times(number) - delayMillis, nowMillis)
        number += 1
      }
      all.settle()
      new Splits(known, all)
    }

  /** With every last active time later by `moreMillis`, but not after `nowMillis`. */
  def heardLater(moreMillis: Long, nowMillis: Long): Splits =
    new Splits(names, clocks.heardLater(moreMillis, nowMillis))

  /** With a watermark that is no earlier than this one. */
  def atLeast(floor: Watermark): Splits =
    floor.millis.filter(millis => watermark.millis.forall(_ < millis)).fold(this) { millis =>
      val all = clocks.copy()
      all.raise(millis)
      new Splits(names, all)
    }

  /** The splits that differ from `before`; `None` if these splits do not continue those. */
  def changedSince(before: Splits): Option[Array[Int]] =
    Option.when(names.continues(before.names))(clocks.changedSince(before.clocks))

  private[core] def writeNames(out: ByteWriter, from: Int): Unit = names.write(out, from)

  /** Whether both have the same splits, with the same numbers. */
  def hasNamesOf(that: Splits): Boolean = size == that.size && names.continues(that.names)

  private def contains(name: Array[Byte]): Boolean = names.find(name) >= 0

  private def changed(onReturn: OnReturn)(change: (SplitNameTable, Coalescer) => Unit): Splits = {
    val all = clocks.copy(onReturn)
    change(names, all)
    new Splits(names, all)
  }

  private def stands: Seq[Any] = watermark +: (0 until size).map { split =>
    (name(split), state(split), clock(split), lastHeard(split))
  }
  override def equals(that: Any): Boolean = that match {
    case other: Splits => stands == other.stands
    case _ => false
  }
  override def hashCode: Int = stands.hashCode
  override def toString: String = stands.mkString("Splits(", ", ", ")")
}

object Splits {
  val none: Splits = new Splits(new SplitNameTable, new Coalescer())

  private[core] def of(names: SplitNameTable, clocks: Coalescer): Splits = new Splits(names, clocks)

  private def watermarkOf(millis: Long, idle: Boolean): Watermark = {
    val reached = Some(millis).filter(_ != Coalescer.NoClock)
    if (idle) Watermark.Idle(reached) else Watermark.of(reached)
  }
}
