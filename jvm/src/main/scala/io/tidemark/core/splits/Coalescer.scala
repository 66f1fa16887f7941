package io.tidemark.core.splits

import java.util.Arrays

/** Clocks of many inputs, coalesced to one watermark: the minimum over the inputs that are not idle.
  *
  * An input is ''active'' from when it is added, and holds the watermark until its first rows. ''Idle'' inputs are left
  * out until they have rows again. When all inputs are idle, the watermark advances to the largest clock of all,
  * so that the order in which inputs became idle does not matter. The watermark never goes back.
  *
  * Inputs are numbered from 0 in the order in which they are added. Everything about them is in arrays of primitives, so
  * an observation costs two or three memory accesses, whatever the number of inputs. Times are ms since the epoch. The
  * rule is that of Hazelcast Jet's `WatermarkCoalescer`, and with [[OnReturn.CatchUp]] that of Flink's
  * `StatusWatermarkValve`. Not thread-safe.
  */
final class Coalescer(private var onReturn: OnReturn = OnReturn.Hold, capacity: Int = 8) {
  import Coalescer._

  private var clocks = new Array[Long](BlockMinima.rounded(capacity.toLong))
  // The last active times, less what all of them have become later by.
  private var activeAt = new Array[Long](clocks.length)
  private var states = Coalescer.noStates(clocks.length)
  private val minima = new BlockMinima(clocks.length)

  private var count = 0
  private var activeCount = 0
  private var catchingUpCount = 0
  private var idleCount = 0
  private var top = NoClock
  private var latest = Long.MinValue
  private var latestRows = Long.MinValue
  private var reached = NoClock
  private var earliest = Long.MaxValue
  private var later = 0L

  // Where inputs are noted before they change; null if the changes need not be undone.
  private var journal: SplitJournal = _

  def size: Int = count
  def active: Int = activeCount
  def idle: Int = idleCount

  /** The watermark; [[Coalescer.NoClock]] if there is none yet. */
  def watermark: Long = reached

  /** Whether there are inputs, and all of them are idle. */
  def isIdle: Boolean = activeCount == 0 && idleCount > 0

  def state(input: Int): Byte = states(input)

  /** The clock of an input; [[Coalescer.NoClock]] if it has had no rows. */
  def clock(input: Int): Long = clocks(input)

  /** The last time at which an input was observed, or added. */
  def lastActive(input: Int): Long = activeAt(input) + later

  /** The same, less what all of these times have become later by: it differs only where the input itself has changed. */
  private[splits] def ownLastActive(input: Int): Long = activeAt(input)

  /** Adds an active input without a clock and returns its number. Its silence counts from `nowMillis`. */
  def add(nowMillis: Long): Int = {
    grow(count + 1)
    val input = count
    count += 1
    activeCount += 1
    earliest = math.min(earliest, nowMillis)
    latest = math.max(latest, nowMillis)
    put(input, Active, NoClock, nowMillis - later)
    input
  }

  /** An input is active and its clock is at `clockMillis`, or it is only active ([[Coalescer.NoClock]]). An earlier clock
    * than its own changes nothing. The watermark stays where it is until [[settle]] is called, so the order in which
    * inputs are observed does not matter.
    */
  def observe(input: Int, clockMillis: Long, nowMillis: Long): Unit = {
    record(input)
    activeAt(input) = nowMillis - later
    latest = math.max(latest, nowMillis)
    if (clockMillis > top) top = clockMillis
    val held = clocks(input)
    if (states(input) != Active) comeBack(input, math.max(held, clockMillis))
    else if (clockMillis > held) {
      clocks(input) = clockMillis
      minima.replace(input, held, clockMillis, clocks, states)
    }
    if (clocks(input) != NoClock) latestRows = math.max(latestRows, nowMillis)
  }

  /** Advances the watermark to what was observed. */
  def settle(): Unit = reached = risen(minima.least, activeCount)

  /** Makes every active input idle that was last observed at `limitMillis` or before. */
  def idleSince(limitMillis: Long): Unit =
    if (limitMillis >= earliest) {
      var oldest = Long.MaxValue
      var input = 0
      while (input < count) {
        if (isActive(states(input))) {
          if (lastActive(input) <= limitMillis) leave(input)
          else oldest = math.min(oldest, lastActive(input))
        }
        input += 1
      }
      earliest = oldest
      settle()
    }

  /** The watermark is no earlier from now on, whatever the clocks say. */
  def raise(watermarkMillis: Long): Unit = reached = math.max(reached, watermarkMillis)

  /** What [[watermark]] would be after [[idleSince]], and whether all inputs would be idle. Nothing is changed. */
  def ifIdleSince(limitMillis: Long): IdlePreview =
    if (limitMillis < earliest) IdlePreview(reached, isIdle, 0, earliest)
    else {
      var least = BlockMinima.Absent
      var leaving = 0
      var oldest = Long.MaxValue
      var input = 0
      while (input < count) {
        val state = states(input)
        if (isActive(state)) {
          if (lastActive(input) <= limitMillis) leaving += 1
          else {
            oldest = math.min(oldest, lastActive(input))
            if (state == Active) least = math.min(least, clocks(input))
          }
        }
        input += 1
      }
      val left = activeCount - leaving
      IdlePreview(risen(least, left), left == 0 && count > 0, leaving, oldest)
    }

  /** Every input was observed later by `moreMillis`, but not after `nowMillis`. Only the inputs that this limit keeps back
    * count as changed.
    */
  def activeLater(moreMillis: Long, nowMillis: Long): Unit = if (count > 0 && moreMillis > 0) {
    def moved(time: Long) = math.max(time, math.min(time + moreMillis, nowMillis))
    if (latest > nowMillis - moreMillis) {
      var input = 0
      while (input < count) {
        val time = lastActive(input)
        if (time > nowMillis - moreMillis) {
          record(input)
          activeAt(input) = moved(time) - moreMillis - later
        }
        input += 1
      }
    }
    later += moreMillis
    earliest = moved(earliest)
    latest = moved(latest)
    if (latestRows != Long.MinValue) latestRows = moved(latestRows)
  }

  /** A copy that changes independently. */
  def copy(): Coalescer = {
    val same = new Coalescer(onReturn, count)
    System.arraycopy(clocks, 0, same.clocks, 0, count)
    System.arraycopy(activeAt, 0, same.activeAt, 0, count)
    System.arraycopy(states, 0, same.states, 0, count)
    same.restore(totals)
    same.minima.replaceAll(same.clocks, same.states)
    same
  }

  /** What is known of all inputs together. */
  private[core] def totals: CoalescerTotals =
    CoalescerTotals(count, activeCount, catchingUpCount, idleCount, top, latest, latestRows, reached, earliest, later)

  private def restore(to: CoalescerTotals): Unit = {
    count = to.size
    activeCount = to.active
    catchingUpCount = to.catchingUp
    idleCount = to.idle
    top = to.largest
    latest = to.lastActive
    latestRows = to.lastRows
    reached = to.watermark
    earliest = to.earliest
    later = to.later
  }

  /** Begins changes that [[follow]] can undo.
    * @param from the present totals; its `earliest` may have become more exact since
    * @param onReturn what an input does that returns
    */
  private[core] def begin(from: CoalescerTotals, onReturn: OnReturn, journal: SplitJournal): Unit = {
    restore(from)
    this.onReturn = onReturn
    this.journal = journal
  }

  private[splits] def end(): Unit = journal = null

  /** Changes what differs in another version of these inputs, which has these totals. It may have more inputs if all of
    * these were here before.
    * @param undo the inputs that differ
    * @param redo is filled with what changes these inputs back
    */
  private[splits] def follow(undo: SplitJournal, to: CoalescerTotals, redo: SplitJournal): Unit = {
    grow(to.size)
    // The last entry comes first, because an input may be noted twice. The older entry counts.
    var entry = undo.size - 1
    while (entry >= 0) {
      val input = undo.split(entry)
      if (input < count) redo.record(input, clocks(input), activeAt(input), states(input))
      put(input, undo.state(entry), undo.clock(entry), undo.lastActive(entry))
      entry -= 1
    }
    var input = to.size
    while (input < count) {
      redo.record(input, clocks(input), activeAt(input), states(input))
      put(input, Unused, NoClock, 0L)
      input += 1
    }
    restore(to)
  }

  private def record(input: Int): Unit =
    if (journal != null) journal.record(input, clocks(input), activeAt(input), states(input))

  private def put(input: Int, state: Byte, clockMillis: Long, lastActiveMillis: Long): Unit = {
    val before = if (states(input) == Active) clocks(input) else BlockMinima.Absent
    if (states(input) == CatchingUp) catchingUpCount -= 1
    if (state == CatchingUp) catchingUpCount += 1
    states(input) = state
    clocks(input) = clockMillis
    activeAt(input) = lastActiveMillis
    minima.replace(input, before, if (state == Active) clockMillis else BlockMinima.Absent, clocks, states)
  }

  private def comeBack(input: Int, clockMillis: Long): Unit = {
    if (states(input) == Idle) {
      idleCount -= 1
      activeCount += 1
      earliest = math.min(earliest, lastActive(input))
    }
    val state = if (onReturn == OnReturn.CatchUp && clockMillis < reached) CatchingUp else Active
    put(input, state, clockMillis, activeAt(input))
  }

  /** Makes an active input idle; [[settle]] has to follow. */
  private[core] def leave(input: Int): Unit = {
    record(input)
    put(input, Idle, clocks(input), activeAt(input))
    activeCount -= 1
    idleCount += 1
  }

  private def risen(least: Long, active: Int): Long =
    if (active == 0) math.max(reached, top)
    // If all active inputs are catching up, nothing is known.
    else if (least == BlockMinima.Absent) reached
    else math.max(reached, least)

  private def grow(size: Int): Unit =
    if (size > clocks.length) {
      val before = clocks.length
      clocks = Arrays.copyOf(clocks, BlockMinima.rounded(math.max(size.toLong, before * 2L)))
      activeAt = Arrays.copyOf(activeAt, clocks.length)
      states = Arrays.copyOf(states, clocks.length)
      Arrays.fill(states, before, states.length, Unused)
      minima.grow(clocks.length)
    }
}

object Coalescer {

  /** Inputs as they were written, the first `count` of each array. */
  def restored(count: Int, clocks: Array[Long], activeAt: Array[Long], states: Array[Byte]): Coalescer = {
    val all = new Coalescer(OnReturn.Hold, count)
    all.count = count
    var input = 0
    while (input < count) {
      val clock = clocks(input)
      val state = states(input)
      all.clocks(input) = clock
      all.activeAt(input) = activeAt(input)
      all.states(input) = state
      all.top = math.max(all.top, clock)
      all.latest = math.max(all.latest, activeAt(input))
      if (clock != NoClock) all.latestRows = math.max(all.latestRows, activeAt(input))
      if (isActive(state)) {
        all.activeCount += 1
        if (state == CatchingUp) all.catchingUpCount += 1
        all.earliest = math.min(all.earliest, activeAt(input))
      } else all.idleCount += 1
      input += 1
    }
    all.minima.replaceAll(all.clocks, all.states)
    all.settle()
    all
  }

  /** The clock of an input without one, earlier than every clock. */
  final val NoClock: Long = Long.MinValue

  /** The states of an input, as codes: every observation compares them. */
  final val Active: Byte = SplitState.Active.code
  final val Idle: Byte = SplitState.Idle.code
  final val CatchingUp: Byte = SplitState.CatchingUp.code

  // The state of a place in the arrays that no input has.
  private final val Unused: Byte = -1

  private def isActive(state: Byte): Boolean = state == Active || state == CatchingUp

  private def noStates(length: Int): Array[Byte] = {
    val states = new Array[Byte](length)
    Arrays.fill(states, Unused)
    states
  }
}
