package io.tidemark.core.splits

import java.util.BitSet

import io.tidemark.core.Watermark
import io.tidemark.core.bytes.ByteWriter

/** The splits of one origin, each with its name, its clock and its last active time. What one says never changes, so
  * it is a value.
  *
  * The [[Coalescer]] knows which splits are idle and what the watermark is. Here splits have names.
  *
  * Each of them is a [[SplitVersion]], and belongs to one thread. Other threads call [[detached]] and [[names]], and
  * nothing else.
  */
final class Splits private (private val version: SplitVersion) {
  import Splits._

  // The last answer about silence, and the earliest limit for which it holds.
  @volatile private var asked: (Long, IdlePreview) = _

  private lazy val snapshot: Splits = new Splits(version.detached)

  private def totals: CoalescerTotals = version.totals
  private def restored: SplitStore = version.restored

  def size: Int = totals.size
  def active: Int = totals.active
  def idle: Int = totals.idle

  /** How many of the active splits catch up. */
  def catchingUp: Int = totals.catchingUp

  /** The watermark if no further split becomes idle. */
  def watermark: Watermark = watermarkOf(totals.watermark, totals.isIdle)

  /** The largest clock of all, ms. */
  def largest: Option[Long] = Some(totals.largest).filter(_ != Coalescer.NoClock)

  def name(split: Int): Seq[Option[String]] = restored.names(split)
  def state(split: Int): SplitState = SplitState.of(restored.clocks.state(split))
  def clock(split: Int): Option[Long] = Some(clockOrNone(split)).filter(_ != Coalescer.NoClock)
  def lastActive(split: Int): Long = restored.clocks.lastActive(split)

  /** Whether a split was last active at this time. */
  private[core] def hasLastActive(millis: Long): Boolean =
    totals.lastActive >= millis && Iterator.range(0, size).exists(restored.clocks.lastActive(_) == millis)

  /** A split whose clock is at this time. */
  def withClock(millis: Long): Option[Int] = Iterator.range(0, size).find(clock(_).contains(millis))

  /** How many splits were last active at this time. */
  def countLastActive(millis: Long): Int = {
    val all = restored.clocks
    var count = 0
    var split = 0
    while (split < size) {
      if (all.lastActive(split) == millis) count += 1
      split += 1
    }
    count
  }

  /** The splits that were last active at this time; `None` if there are more than `most`. */
  private[core] def withLastActive(millis: Long, most: Int): Option[Set[Int]] = {
    val all = restored.clocks
    val some = Iterator.range(0, size).filter(all.lastActive(_) == millis).take(most + 1).toSet
    Option.when(some.size <= most)(some)
  }

  /** The numbers of the splits that a batch has seen, of those that are known. */
  private[core] def numbersOf(times: MaxEventTimes): Set[Int] = {
    val names = restored.names
    Iterator.range(0, times.size).map(number => names.find(times.names.encoded(number))).filter(_ >= 0).toSet
  }

  /** The last time at which a split had rows with an event time; `None` if no split has had any. */
  def lastRows: Option[Long] = Some(totals.lastRows).filter(_ != Long.MinValue)

  /** The same, or if no split has had any, the last time at which one became known. */
  def lastActiveOfAll: Option[Long] = lastRows.orElse(lastObserved)

  /** When one had rows or became known last; `None` if there is none. */
  def lastObserved: Option[Long] = Option.when(size > 0)(totals.lastActive)

  /** Whether no split had rows or became known after `limitMillis`. */
  def allSilentSince(limitMillis: Long): Boolean = size > 0 && totals.lastActive <= limitMillis

  /** Its clock, or [[Coalescer.NoClock]]. */
  private[core] def clockOrNone(split: Int): Long = restored.clocks.clock(split)

  /** The watermark if every split were idle that was last active at `limitMillis` or before. Every trigger asks for it, so
    * the answer is remembered.
    * @param isIdle whether the origin is idle even if some of its splits are not
    */
  def watermarkSince(limitMillis: Long, isIdle: Boolean = false): Watermark = {
    val prospect = ifIdleSince(limitMillis)
    watermarkOf(prospect.watermark, prospect.idle || isIdle)
  }

  /** With these splits idle. */
  def idleSince(limitMillis: Long, onReturn: OnReturn): Splits =
    if (ifIdleSince(limitMillis).leaving == 0) this
    else changed(onReturn, 0)((_, all) => all.idleSince(limitMillis))

  private def ifIdleSince(limitMillis: Long): IdlePreview = {
    val last = asked
    if (last != null && last._1 <= limitMillis && limitMillis < last._2.until) last._2
    else if (limitMillis < totals.earliest)
      IdlePreview(totals.watermark, totals.isIdle, leaving = 0, totals.earliest)
    else {
      val prospect = restored.clocks.ifIdleSince(limitMillis)
      asked = limitMillis -> prospect
      if (prospect.leaving == 0) version.noteEarliest(prospect.until)
      prospect
    }
  }

  /** With these splits (encoded names) active, because a batch is about to read rows of them. New names are added. */
  def awake(splits: Seq[Array[Byte]], nowMillis: Long, onReturn: OnReturn): Splits =
    if (splits.isEmpty) this
    else
      withNames(splits, nowMillis, onReturn).changed(onReturn, splits.size) { (names, all) =>
        splits.foreach(name => all.observe(names.find(name), Coalescer.NoClock, nowMillis))
        all.settle()
      }

  /** With these splits (encoded names) idle. Those that are not known stay unknown. */
  def resting(splits: Seq[Array[Byte]]): Splits = {
    val active = splits.map(restored.names.find).filter(split => split >= 0 && state(split) != SplitState.Idle).distinct
    if (active.isEmpty) this
    else
      changed(OnReturn.Hold, active.size) { (_, all) =>
        active.foreach(all.leave)
        all.settle()
      }
  }

  /** With no split idle: each holds the watermark by its clock. */
  def allAwake(onReturn: OnReturn): Splits =
    if (idle == 0) this
    else
      changed(onReturn, idle) { (_, all) =>
        (0 until all.size).filter(all.state(_) == Coalescer.Idle).foreach { split =>
          all.observe(split, Coalescer.NoClock, all.lastActive(split))
        }
        all.settle()
      }

  /** With these splits (encoded names) known. They hold the watermark until they have rows or are idle. */
  def withNames(splits: Seq[Array[Byte]], nowMillis: Long, onReturn: OnReturn): Splits =
    if (splits.forall(contains)) this
    else
      changed(onReturn, 0) { (names, all) =>
        splits.foreach(name => if (names.add(name) == all.size) all.add(nowMillis))
      }

  /** With what a batch that ended at `nowMillis` has seen of them. */
  def observe(times: MaxEventTimes, delayMillis: Long, nowMillis: Long, onReturn: OnReturn): Splits =
    if (times.isEmpty) this
    else
      changed(onReturn, math.min(times.size, size)) { (names, all) =>
        times.foreachAddedTo(names) { (split, millis) =>
          if (split == all.size) all.add(nowMillis)
          // There is no overflow: Spark's times are Longs in µs.
          all.observe(split, millis - delayMillis, nowMillis)
        }
        all.settle()
      }

  /** With every last active time later by `moreMillis`, but not after `nowMillis`. */
  def activeLater(moreMillis: Long, nowMillis: Long): Splits =
    if (size == 0) this
    else changed(OnReturn.Hold, 0)((_, all) => all.activeLater(moreMillis, nowMillis))

  /** With a watermark that is no earlier than this one. */
  def atLeast(floor: Watermark): Splits =
    floor.millis.filter(millis => watermark.millis.forall(_ < millis)).fold(this) { millis =>
      changed(OnReturn.Hold, 0)((_, all) => all.raise(millis))
    }

  /** With the clocks of some splits no later than a time. The watermark is no later than that time, unless the clocks
    * say so.
    */
  def takenBack(which: Int => Boolean, toMillis: Long): Splits = {
    def clock(split: Int) = if (which(split)) math.min(clockOrNone(split), toMillis) else clockOrNone(split)
    val all = (0 until size).toArray
    val ofClocks = rebuilt(all, clock, state(_)).watermark.millis
    val reached = watermark.millis.map(math.min(_, (ofClocks.toSeq :+ toMillis).max))
    def hasCaughtUp(split: Int) = state(split) == SplitState.CatchingUp && reached.exists(_ <= clock(split))
    rebuilt(all, clock, split => if (hasCaughtUp(split)) SplitState.Active else state(split))
      .atLeast(Watermark.of(reached))
  }

  /** Which splits may be forgotten: idle ones that were last active at `limitMillis` or before. Without them, the watermark is
    * the same at any later time, unless one of them returns. So a split stays that is ahead of the watermark, or was active
    * last. The splits that stay get new numbers, which takes long if they are many: so none is forgotten until an eighth
    * of them can be.
    *
    * @param kept splits (encoded names) that stay
    */
  def forgettable(limitMillis: Long, kept: Seq[Array[Byte]]): Option[Int => Boolean] = {
    val enough = if (size <= FewSplits) 1 else size / 8
    if (idle < enough) None
    else {
      val all = restored.clocks
      val limit = math.min(limitMillis, lastRows.fold(Long.MinValue)(_ - 1))
      def isGone(split: Int) =
        all.state(split) == Coalescer.Idle && all.lastActive(split) <= limit && all.clock(split) <= totals.watermark
      val gone = new BitSet(size)
      Iterator.range(0, size).filter(isGone).foreach(gone.set(_))
      if (gone.cardinality >= enough) kept.map(restored.names.find).filter(_ >= 0).foreach(gone.clear(_))
      Option.when(gone.cardinality >= enough)(gone.get(_: Int))
    }
  }

  /** These splits (in order) alone, with new numbers and a watermark that is no earlier. */
  def keeping(kept: Array[Int]): Splits = rebuilt(kept, clockOrNone, state).atLeast(watermark)

  /** These splits alone, with new numbers and the watermark that their clocks give. */
  private def rebuilt(kept: Array[Int], clock: Int => Long, state: Int => SplitState): Splits = {
    val names = new SplitNameTable
    kept.foreach { split =>
      val name = restored.names.encoded(split)
      names.addNew(name, 0, name.length)
    }
    Splits.of(names, Coalescer.restored(kept.length, kept.map(clock), kept.map(lastActive), kept.map(state(_).code)))
  }

  /** How these splits differ from `before`; `None` if more than `most` do, or if these splits do not continue those. */
  def changedSince(before: Splits, most: Int): Option[SplitChanges] = version.changedSince(before.version, most)

  private[core] def writeName(out: ByteWriter, split: Int): Unit = restored.names.writeOne(out, split)
  private[core] def writeNames(out: ByteWriter, from: Int): Unit = restored.names.write(out, from)

  /** The names of these splits, for any thread. */
  def names: SplitNameTable = version.names

  /** Whether these splits have exactly these names, with the same numbers. */
  def hasNames(names: SplitNameTable): Boolean = size == names.size && restored.names.continues(names)

  /** These splits as a copy that never changes, from any thread and for any thread. It is made once for each version, and
    * the names are not copied.
    */
  def detached: Splits = if (version.isFrozen) this else snapshot

  private def changed(onReturn: OnReturn, expected: Int)(change: (SplitNameTable, Coalescer) => Unit): Splits =
    new Splits(version.changed(onReturn, expected)(change))

  private def contains(name: Array[Byte]): Boolean = restored.names.find(name) >= 0

  private def contents: Seq[Any] = watermark +: (0 until size).map { split =>
    (name(split), state(split), clock(split), lastActive(split))
  }
  override def equals(that: Any): Boolean = that match {
    case other: Splits => contents == other.contents
    case _ => false
  }
  override def hashCode: Int = contents.hashCode
  override def toString: String = contents.mkString("Splits(", ", ", ")")
}

object Splits {
  // So many are written again in each batch anyway.
  private val FewSplits = 1000

  val none: Splits = of(new SplitNameTable, new Coalescer(), isFrozen = true)

  private[core] def of(names: SplitNameTable, clocks: Coalescer): Splits = of(names, clocks, isFrozen = false)

  private def of(names: SplitNameTable, clocks: Coalescer, isFrozen: Boolean): Splits =
    new Splits(SplitVersion.of(new SplitStore(names, clocks, isFrozen)))

  private def watermarkOf(millis: Long, idle: Boolean): Watermark = {
    val reached = Some(millis).filter(_ != Coalescer.NoClock)
    if (idle) Watermark.Idle(reached) else Watermark.of(reached)
  }
}
