package io.tidemark.core.splits

import java.util.BitSet

import scala.annotation.tailrec

/** One version of an origin's splits.
  *
  * Versions of the same splits share one [[SplitStore]], so that a batch costs what has changed in it. The newest version
  * is in the store. An older one has a journal of how it differs from the next version. Reading an older one changes the
  * store back, and leaves a journal in the other direction. So any version may be read and changed at any time, and the
  * newest one costs nothing extra. An old version keeps the journals of all changes since then in memory, so nothing should
  * hold an old version for longer than a batch.
  *
  * Versions belong to one thread. Other threads call [[detached]] and [[names]], and nothing else.
  */
private[splits] final class SplitVersion private (
    private val store: SplitStore,
    @volatile private var current: CoalescerTotals,
    // The changes that turn the next version back into this one; null for the version that is in the store.
    private var undo: SplitVersion.Undo) {
  import SplitVersion._

  // What other threads read of this version.
  private var snapshot: SplitVersion = _

  def totals: CoalescerTotals = current

  /** A scan has found that no active split was last observed before this time. */
  def noteEarliest(millis: Long): Unit = current = current.copy(earliest = millis)

  /** Whether nothing in it changes from now on, so that any thread may read it. */
  def isFrozen: Boolean = store.isFrozen

  /** The store, changed to this version. Only on the thread that these versions belong to. */
  def restored: SplitStore = {
    if (undo != null) store.synchronized(comeBack(steps.toList.reverse))
    store
  }

  /** The names of these splits, for any thread. */
  def names: SplitNameTable = store.synchronized(restored.names.sharing())

  /** A new version.
    * @param expected about how many splits change
    */
  def changed(onReturn: OnReturn, expected: Int)(change: (SplitNameTable, Coalescer) => Unit): SplitVersion =
    if (store.isFrozen) {
      val own = store.copy(isFrozen = false)
      own.clocks.begin(totals, onReturn, null)
      change(own.names, own.clocks)
      SplitVersion.of(own)
    } else
      store.synchronized {
        val all = restored.clocks
        val journal = new SplitJournal(totals.size, expected)
        all.begin(totals, onReturn, journal)
        try change(store.names, all)
        catch {
          case e: Throwable =>
            all.end()
            store.follow(journal, totals)
            throw e
        }
        all.end()
        val next = SplitVersion.of(store)
        undo = new Undo(next, journal)
        next
      }

  /** This version as a copy that never changes, from any thread and for any thread. It is made once, and the names are not
    * copied.
    */
  def detached: SplitVersion =
    if (store.isFrozen) this
    else
      store.synchronized {
        if (snapshot == null) {
          val copy = store.copy(isFrozen = true)
          // From the version that is in the store back to this one.
          steps.filter(_.undo != null).toSeq.reverse.foreach(step => copy.follow(step.undo.journal, step.totals))
          snapshot = new SplitVersion(copy, totals, null)
        }
        snapshot
      }

  /** How these splits differ from `before`; `None` if more than `most` do, or if these splits do not continue those. */
  def changedSince(before: SplitVersion, most: Int): Option[SplitChanges] = differingFrom(before, most).map { splits =>
    SplitChanges(before.totals.size, laterThan(before), splits)
  }

  /** By how much the last active times of all splits have become later since then. Versions of different stores may have
    * become later by more or less, and then more of the splits differ.
    */
  private def laterThan(before: SplitVersion): Long = math.max(0L, totals.later - before.totals.later)

  private def differingFrom(before: SplitVersion, most: Int): Option[Array[Int]] = {
    val (size, sizeBefore) = (totals.size, before.totals.size)
    if (size - sizeBefore > most || sizeBefore > size) None
    else if (store ne before.store) comparedWith(before, most)
    else {
      restored
      val isLater = totals.later >= before.totals.later
      if (isLater && before.steps.forall(_.totals.size >= sizeBefore)) changesSince(before, most)
      else detached.comparedWith(before.detached, most)
    }
  }

  /** This version is in the store, and `before` leads to it. */
  private def changesSince(before: SplitVersion, most: Int): Option[Array[Int]] = {
    val all = store.clocks
    val (recorded, changed) = (new BitSet(all.size), new BitSet(all.size))
    changed.set(before.totals.size, all.size)
    var count = all.size - before.totals.size
    before.steps.filter(_.undo != null).foreach { step =>
      val journal = step.undo.journal
      var entry = 0
      while (entry < journal.size && count <= most) {
        val split = journal.split(entry)
        // A split's first record is how it was before. Splits that are new since then are listed already.
        if (split < before.totals.size && !recorded.get(split)) {
          recorded.set(split)
          if (journal.lastActive(entry) != all.ownLastActive(split) ||
            journal.state(entry) != all.state(split) || journal.clock(entry) != all.clock(split)) {
            changed.set(split)
            count += 1
          }
        }
        entry += 1
      }
    }
    Option.when(count <= most)(changed.stream.toArray)
  }

  /** The same without journals, for versions in different stores. */
  private def comparedWith(before: SplitVersion, most: Int): Option[Array[Int]] = {
    val (all, those) = (restored, before.restored)
    val later = laterThan(before)
    Option.when(all.names.continues(those.names)) {
      (0 until totals.size).filter { split =>
        split >= before.totals.size || all.clocks.lastActive(split) != those.clocks.lastActive(split) + later ||
        all.clocks.state(split) != those.clocks.state(split) || all.clocks.clock(split) != those.clocks.clock(split)
      }.toArray
    }.filter(_.length <= most)
  }

  /** This version and those on the way from it to the one that is in the store. */
  private def steps: Iterator[SplitVersion] =
    Iterator.iterate(this)(step => if (step.undo == null) null else step.undo.to).takeWhile(_ != null)

  /** @param steps from the version that is in the store to this one */
  @tailrec private def comeBack(steps: List[SplitVersion]): Unit = steps match {
    case now :: next :: rest =>
      val redo = store.follow(next.undo.journal, next.totals)
      now.undo = new Undo(next, redo)
      next.undo = null
      comeBack(next :: rest)
    case _ => ()
  }
}

private[splits] object SplitVersion {

  /** The version that is in the store. */
  def of(store: SplitStore): SplitVersion = new SplitVersion(store, store.clocks.totals, null)

  /** Leads from a version to another one. The journal says how the first one differs. */
  private final class Undo(val to: SplitVersion, val journal: SplitJournal)
}
