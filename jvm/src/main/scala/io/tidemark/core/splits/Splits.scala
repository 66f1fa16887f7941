package io.tidemark.core.splits

import scala.annotation.tailrec

import io.tidemark.core.Watermark
import io.tidemark.core.bytes.ByteWriter

/** The splits of one origin, each with its name, its clock and its last active time. What one says never
  * changes, so it is a value.
  *
  * The [[Coalescer]] knows which splits are idle and what the watermark is. Here splits have names.
  *
  * Versions of the same splits share one [[SplitStore]], so that a batch costs what has changed in it. The newest version
  * is in the store. An older one has a journal of how it differs from the next version. Reading an older one changes the
  * store back, and leaves a journal in the other direction. So any version may be read and changed at any time, and the
  * newest one costs nothing extra. An old version keeps the journals of all changes since then in memory, so nothing should
  * hold one for longer than a batch.
  *
  * Versions belong to one thread. Other threads call [[detached]], and nothing else.
  */
final class Splits private (
    private val store: SplitStore,
    @volatile private var totals: CoalescerTotals,
    // The way to this version from the one that it leads to; null if the store is as this version has it.
    private var way: Splits.Way) {
  import Splits._

  // The last answer about silence, and the earliest limit for which it holds.
  @volatile private var asked: (Long, IdleProspect) = _

  // What other threads read of this version.
  private var copied: Splits = _

  def size: Int = totals.size
  def active: Int = totals.active
  def idle: Int = totals.idle

  /** The watermark if no further split becomes idle. */
  def watermark: Watermark = watermarkOf(totals.watermark, totals.isIdle)

  /** The largest clock of all, ms. */
  def largest: Option[Long] = Some(totals.largest).filter(_ != Coalescer.NoClock)

  def name(split: Int): Seq[Option[String]] = here.names(split)
  def encodedName(split: Int): Array[Byte] = here.names.encoded(split)
  def state(split: Int): SplitState = SplitState.of(here.clocks.state(split))
  def clock(split: Int): Option[Long] = Some(clockOrNone(split)).filter(_ != Coalescer.NoClock)
  def lastHeard(split: Int): Long = here.clocks.lastHeard(split)

  /** The last time at which a split had rows with an event time; `None` if no split has had any. */
  def lastSpoken: Option[Long] = Some(totals.lastSpoken).filter(_ != Long.MinValue)

  /** The same, or if no split has had any, the last time at which one became known. */
  def lastHeardOfAll: Option[Long] = lastSpoken.orElse(Option.when(size > 0)(totals.lastHeard))

  /** Whether no split had rows or became known after `limitMillis`. */
  def allSilentSince(limitMillis: Long): Boolean = size > 0 && totals.lastHeard <= limitMillis

  /** Its clock, or [[Coalescer.NoClock]]. */
  private[core] def clockOrNone(split: Int): Long = here.clocks.clock(split)

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

  private def ifIdleSince(limitMillis: Long): IdleProspect = {
    val last = asked
    if (last != null && last._1 <= limitMillis && limitMillis < last._2.until) last._2
    else if (limitMillis < totals.earliest)
      IdleProspect(totals.watermark, totals.isIdle, leaving = 0, totals.earliest)
    else {
      val prospect = here.clocks.ifIdleSince(limitMillis)
      asked = limitMillis -> prospect
      if (prospect.leaving == 0) totals = totals.copy(earliest = prospect.until)
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

  /** With no split idle: each holds the watermark by its clock. */
  def allAwake(onReturn: OnReturn): Splits =
    if (idle == 0) this
    else
      changed(onReturn, idle) { (_, all) =>
        (0 until all.size).filter(all.state(_) == Coalescer.Idle).foreach { split =>
          all.observe(split, Coalescer.NoClock, all.lastHeard(split))
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
  def heard(times: MaxEventTimes, delayMillis: Long, nowMillis: Long, onReturn: OnReturn): Splits =
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
  def heardLater(moreMillis: Long, nowMillis: Long): Splits =
    if (size == 0) this
    else changed(OnReturn.Hold, size)((_, all) => all.heardLater(moreMillis, nowMillis))

  /** With a watermark that is no earlier than this one. */
  def atLeast(floor: Watermark): Splits =
    floor.millis.filter(millis => watermark.millis.forall(_ < millis)).fold(this) { millis =>
      changed(OnReturn.Hold, 0)((_, all) => all.raise(millis))
    }

  /** The splits that differ from `before`, in order; `None` if there are more than `most`, or if these splits do not
    * continue those.
    */
  def changedSince(before: Splits, most: Int): Option[Array[Int]] =
    if (size - before.size > most || before.size > size) None
    else if (store ne before.store) comparedWith(before, most)
    else {
      here
      if (before.steps.forall(_.size >= before.size)) changesSince(before, most)
      else detached.comparedWith(before.detached, most)
    }

  /** This version is in the store, and `before` leads to it. */
  private def changesSince(before: Splits, most: Int): Option[Array[Int]] = {
    val all = store.clocks
    val (noted, changed) = (new SplitSet(size), new SplitSet(size))
    (before.size until size).foreach(changed.add)
    before.steps.filter(_.way != null).foreach { step =>
      val journal = step.way.journal
      var entry = 0
      while (entry < journal.size && changed.size <= most) {
        val split = journal.split(entry)
        // What was noted first is how the split was before. Splits that are new since then are listed already.
        if (split < before.size && noted.add(split) &&
          (journal.heard(entry) != all.lastHeard(split) ||
            journal.state(entry) != all.state(split) || journal.clock(entry) != all.clock(split)))
          changed.add(split)
        entry += 1
      }
    }
    Option.when(changed.size <= most)(changed.toArray)
  }

  /** The same without journals. */
  private def comparedWith(before: Splits, most: Int): Option[Array[Int]] =
    Option.when(here.names.continues(before.here.names)) {
      (0 until size).filter { split =>
        split >= before.size || lastHeard(split) != before.lastHeard(split) ||
        state(split) != before.state(split) || clockOrNone(split) != before.clockOrNone(split)
      }.toArray
    }.filter(_.length <= most)

  private[core] def writeName(out: ByteWriter, split: Int): Unit = here.names.writeOne(out, split)
  private[core] def writeNames(out: ByteWriter, from: Int): Unit = here.names.write(out, from)

  /** The names of these splits, for any thread. */
  def names: SplitNameTable = store.synchronized(here.names.sharing())

  /** Whether these splits have exactly these names, with the same numbers. */
  def hasNames(names: SplitNameTable): Boolean = size == names.size && here.names.continues(names)

  /** These splits as a copy that never changes, from any thread and for any thread. It is made once for each version, and
    * the names are not copied.
    */
  def detached: Splits =
    if (store.isFrozen) this
    else
      store.synchronized {
        if (copied == null) {
          val copy = store.copy(isFrozen = true)
          // From the version that is in the store back to this one.
          steps.filter(_.way != null).toSeq.reverse.foreach(step => copy.follow(step.way.journal, step.totals))
          copied = new Splits(copy, totals, null)
        }
        copied
      }

  /** This version and those on the way from it to the one that is in the store. */
  private def steps: Iterator[Splits] =
    Iterator.iterate(this)(step => if (step.way == null) null else step.way.to).takeWhile(_ != null)

  /** The store, changed to this version. Only on the thread that these versions belong to. */
  private def here: SplitStore = {
    if (way != null) store.synchronized(comeBack(steps.toList.reverse))
    store
  }

  /** @param steps from the version that is in the store to this one */
  @tailrec private def comeBack(steps: List[Splits]): Unit = steps match {
    case now :: next :: rest =>
      val back = store.follow(next.way.journal, next.totals)
      now.way = new Way(next, back)
      next.way = null
      comeBack(next :: rest)
    case _ => ()
  }

  /** A new version.
    * @param expected about how many splits change
    */
  private def changed(onReturn: OnReturn, expected: Int)(change: (SplitNameTable, Coalescer) => Unit): Splits =
    if (store.isFrozen) {
      val own = store.copy(isFrozen = false)
      own.clocks.begin(totals, onReturn, null)
      change(own.names, own.clocks)
      new Splits(own, own.clocks.totals, null)
    } else
      store.synchronized {
        val all = here.clocks
        val journal = new SplitJournal(size, expected)
        all.begin(totals, onReturn, journal)
        try change(store.names, all)
        catch {
          case e: Throwable =>
            all.end()
            store.follow(journal, totals)
            throw e
        }
        all.end()
        val next = new Splits(store, all.totals, null)
        way = new Way(next, journal)
        next
      }

  private def contains(name: Array[Byte]): Boolean = here.names.find(name) >= 0

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
  val none: Splits = new Splits(
    new SplitStore(new SplitNameTable, new Coalescer(), isFrozen = true),
    new Coalescer().totals,
    null)

  private[core] def of(names: SplitNameTable, clocks: Coalescer): Splits =
    new Splits(new SplitStore(names, clocks, isFrozen = false), clocks.totals, null)

  /** Leads from a version to another one. The journal says how the first one differs. */
  private final class Way(val to: Splits, val journal: SplitJournal)

  private def watermarkOf(millis: Long, idle: Boolean): Watermark = {
    val reached = Some(millis).filter(_ != Coalescer.NoClock)
    if (idle) Watermark.Idle(reached) else Watermark.of(reached)
  }
}
