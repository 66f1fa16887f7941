package io.tidemark.core.splits

import io.tidemark.core.Watermark
import io.tidemark.core.bytes.ByteWriter

/** The splits of one origin, each with its clock and when it was last heard; unchangeable.
  *
  * This is where an origin's part of the design's semantics is: which splits are idle at a moment, and what the watermark
  * is then, is said by the [[Coalescer]]; here it is asked by name.
  */
final class Splits private (private val names: SplitNameTable, private val clocks: Coalescer) {
  import Splits._

  def size: Int = clocks.size
  def active: Int = clocks.active
  def idle: Int = clocks.idle

  /** As it stands, with nobody else falling silent. */
  def watermark: Watermark = watermarkOf(clocks.watermark, clocks.isIdle)

  /** The largest clock of all, ms. */
  def largest: Option[Long] = Some(clocks.largest).filter(_ != Coalescer.NoClock)

  def name(split: Int): Seq[Option[String]] = names(split)
  def encodedName(split: Int): Array[Byte] = names.encoded(split)
  def state(split: Int): Byte = clocks.state(split)
  def clock(split: Int): Option[Long] = Some(clocks.clock(split)).filter(_ != Coalescer.NoClock)
  def lastHeard(split: Int): Long = clocks.lastHeard(split)

  /** When any of them had rows with an event time; `None` while none has had any. */
  def lastSpoken: Option[Long] = Some(clocks.lastSpoken).filter(_ != Long.MinValue)

  /** The same, or while none has had any, when one became known. */
  def lastHeardOfAll: Option[Long] = lastSpoken.orElse(Option.when(size > 0)(clocks.lastHeardOfAll))

  /** Whether nobody was heard, or became known, after `limitMillis`. */
  def allSilentSince(limitMillis: Long): Boolean = size > 0 && clocks.lastHeardOfAll <= limitMillis

  /** Its clock, or [[Coalescer.NoClock]]. */
  private[core] def clockOrNone(split: Int): Long = clocks.clock(split)

  /** The watermark if every split were left out that was last heard at `limitMillis` or before. Changes nothing and copies
    * nothing, as it is asked on every trigger.
    * @param isIdle whether it is idle, also if some are not
    */
  def watermarkSince(limitMillis: Long, isIdle: Boolean = false): Watermark = {
    val prospect = clocks.ifIdleSince(limitMillis)
    watermarkOf(prospect.watermark, prospect.idle || isIdle)
  }

  /** With those left out. */
  def idleSince(limitMillis: Long, onReturn: OnReturn): Splits =
    if (limitMillis < clocks.earliestHeard) this
    else changed(onReturn)((_, all) => all.idleSince(limitMillis))

  /** With these (encoded names) active, as they are about to be heard; those that are not known yet are added. */
  def awake(splits: Seq[Array[Byte]], nowMillis: Long, onReturn: OnReturn): Splits =
    if (splits.isEmpty) this
    else
      withNames(splits, nowMillis, onReturn).changed(onReturn) { (names, all) =>
        splits.foreach(name => all.observe(names.find(name), Coalescer.NoClock, nowMillis))
        all.settle()
      }

  /** With none idle: each holds the watermark from where it has got to. */
  def allAwake(onReturn: OnReturn): Splits =
    if (idle == 0) this
    else
      changed(onReturn) { (_, all) =>
        (0 until all.size).filter(all.state(_) == Coalescer.Idle).foreach { split =>
          all.observe(split, Coalescer.NoClock, all.lastHeard(split))
        }
        all.settle()
      }

  /** With these (encoded names) known: they hold the watermark until they are heard or idle. */
  def withNames(splits: Seq[Array[Byte]], nowMillis: Long, onReturn: OnReturn): Splits =
    if (splits.forall(contains)) this
    else {
      val more = names.copy()
      val all = clocks.copy(onReturn)
      splits.foreach(name => if (more.add(name) == all.size) all.add(nowMillis))
      new Splits(more, all)
    }

  /** With what a batch that has ended at `nowMillis` has seen of them. */
  def heard(times: MaxEventTimes, delayMillis: Long, nowMillis: Long, onReturn: OnReturn): Splits =
    if (times.isEmpty) this
    else {
      val all = clocks.copy(onReturn)
      // Shared with the splits before, until there is a new name.
      var known = names
      var number = 0
      while (number < times.size) {
        var split = known.find(times.names, number)
        if (split < 0) {
          if (known eq names) known = names.copy()
          split = known.add(times.names, number)
          all.add(nowMillis)
        }
        // No overflow: Spark's times are in µs, and so a thousand times smaller than a Long can be.
        all.observe(split, times(number) - delayMillis, nowMillis)
        number += 1
      }
      all.settle()
      new Splits(known, all)
    }

  /** With each heard so much later than it was, but not after `nowMillis`. */
  def heardLater(moreMillis: Long, nowMillis: Long): Splits =
    new Splits(names, clocks.heardLater(moreMillis, nowMillis))

  /** With a watermark that is no earlier than this one. */
  def atLeast(floor: Watermark): Splits =
    floor.millis.filter(millis => watermark.millis.forall(_ < millis)).fold(this) { millis =>
      val all = clocks.copy()
      all.raise(millis)
      new Splits(names, all)
    }

  /** The splits that do not stand as they did in `before`; `None` where these do not go on from those. */
  def changedSince(before: Splits): Option[Array[Int]] =
    Option.when(names.continues(before.names))(clocks.changedSince(before.clocks))

  private[core] def writeNames(out: ByteWriter, from: Int): Unit = names.write(out, from)

  /** Whether both know the same splits, under the same numbers. */
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
