package io.tidemark.core.splits

/** Clocks of many inputs, coalesced to one watermark: the minimum over the inputs that are not idle.
  *
  * An input is ''active'' from when it is added, and holds the watermark until its first rows. ''Idle'' inputs are left
  * out until they have rows again. When no input is active any more, the watermark advances to the largest clock of all,
  * so that the order in which inputs became idle does not matter. The watermark never goes back.
  *
  * Inputs are numbered from 0 in the order in which they are added. Everything about them is in arrays of primitives, so
  * an observation costs two or three memory accesses, whatever the number of inputs. Times are ms since the epoch. The
  * rule is that of Hazelcast Jet's `WatermarkCoalescer`, and with [[OnReturn.CatchUp]] that of Flink's
  * `StatusWatermarkValve`. Not thread-safe.
  */
final class Coalescer private (onReturn: OnReturn, private val taking: MinTournamentTree) {
  import Coalescer._

  def this(onReturn: OnReturn = OnReturn.Hold, capacity: Int = 8) = this(onReturn, new MinTournamentTree(capacity))

  // The clocks of inputs that do not count in the minimum. `taking` has the clocks of those that do.
  private var resting = new Array[Long](taking.capacityNow)
  // Few of them change in a batch, so a copy shares the array until one does.
  private var isRestingShared = false
  private var states = new Array[Byte](taking.capacityNow)
  private var heard = new Array[Long](taking.capacityNow)

  private var count = 0
  private var activeCount = 0
  private var idleCount = 0
  private var top = NoClock
  // The latest time at which any input was observed or added.
  private var latest = Long.MinValue
  // The latest time at which an input with a clock was observed.
  private var spoken = Long.MinValue
  private var reached = NoClock
  // No active input was last observed before this time. It may be too early, never too late.
  private var earliest = Long.MaxValue

  def size: Int = count
  def active: Int = activeCount
  def idle: Int = idleCount

  /** The watermark; [[Coalescer.NoClock]] if there is none yet. */
  def watermark: Long = reached

  /** Whether there are inputs, and all of them are idle. */
  def isIdle: Boolean = activeCount == 0 && idleCount > 0

  /** The largest clock that any input has had. */
  def largest: Long = top

  def state(input: Int): Byte = states(input)

  /** The clock of an input; [[Coalescer.NoClock]] if it has had no rows. */
  def clock(input: Int): Long = {
    val held = taking(input)
    if (held == MinTournamentTree.Absent) resting(input) else held
  }

  /** The last time at which an input was observed, or added. */
  def lastHeard(input: Int): Long = heard(input)

  /** The last time at which any input was observed, or added; `Long.MinValue` if there is no input. */
  def lastHeardOfAll: Long = latest

  /** The last time at which an input with a clock was observed; `Long.MinValue` if none has a clock. */
  def lastSpoken: Long = spoken

  /** Adds an active input without a clock and returns its number. Its silence counts from `nowMillis`. */
  def add(nowMillis: Long): Int = {
    grow(count + 1)
    val input = count
    count += 1
    activeCount += 1
    heard(input) = nowMillis
    earliest = math.min(earliest, nowMillis)
    latest = math.max(latest, nowMillis)
    states(input) = Active
    taking.update(input, NoClock)
    input
  }

  /** An input is active and its clock is at `clockMillis`, or it is only active ([[Coalescer.NoClock]]). An earlier clock
    * than its own changes nothing. The watermark stays where it is until [[settle]] is called, so the order in which
    * inputs are observed does not matter.
    */
  def observe(input: Int, clockMillis: Long, nowMillis: Long): Unit = {
    heard(input) = nowMillis
    latest = math.max(latest, nowMillis)
    if (clockMillis > top) top = clockMillis
    val held = taking(input)
    if (held == MinTournamentTree.Absent) comeBack(input, clockMillis)
    else if (clockMillis > held) taking.update(input, clockMillis)
    if (clock(input) != NoClock) spoken = math.max(spoken, nowMillis)
  }

  /** Advances the watermark to what was observed. */
  def settle(): Unit = reached = risen(taking.least, activeCount)

  /** Makes every active input idle that was last observed at `limitMillis` or before. */
  def idleSince(limitMillis: Long): Unit =
    if (limitMillis >= earliest) {
      var oldest = Long.MaxValue
      var input = 0
      while (input < count) {
        if (isActive(input)) {
          if (heard(input) <= limitMillis) leave(input)
          else oldest = math.min(oldest, heard(input))
        }
        input += 1
      }
      earliest = oldest
      settle()
    }

  /** The watermark is no earlier from now on, whatever the clocks say. */
  def raise(watermarkMillis: Long): Unit = reached = math.max(reached, watermarkMillis)

  /** The inputs that differ from `before`, and those that have been added since, in order. */
  def changedSince(before: Coalescer): Array[Int] = {
    val changed = Array.newBuilder[Int]
    // An input with another clock was observed since. Its time differs as well if that was later than all times before.
    val isLater = latest > before.latest
    // In locals, so that the loop does not read them again and again.
    val (times, timesBefore) = (heard, before.heard)
    val (now, statesBefore) = (states, before.states)
    var input = 0
    while (input < before.count) {
      if (times(input) != timesBefore(input) || now(input) != statesBefore(input) ||
        !isLater && clock(input) != before.clock(input)) changed += input
      input += 1
    }
    changed ++= (before.count until count)
    changed.result()
  }

  /** What [[watermark]] would be after [[idleSince]], and whether all inputs would be idle. Nothing is changed. */
  def ifIdleSince(limitMillis: Long): Prospect =
    if (limitMillis < earliest) Prospect(reached, isIdle)
    else {
      var least = MinTournamentTree.Absent
      var left = activeCount
      var input = 0
      while (input < count) {
        if (isActive(input)) {
          if (heard(input) <= limitMillis) left -= 1
          else least = math.min(least, taking(input))
        }
        input += 1
      }
      Prospect(risen(least, left), left == 0 && idleCount + activeCount > 0)
    }

  /** A copy that changes independently.
    * @param onReturn what an input does that returns later
    */
  def copy(onReturn: OnReturn = onReturn): Coalescer = {
    val same = new Coalescer(onReturn, taking.copy())
    same.resting = resting
    isRestingShared = true
    same.isRestingShared = true
    same.states = states.clone()
    same.heard = heard.clone()
    same.count = count
    same.activeCount = activeCount
    same.idleCount = idleCount
    same.top = top
    same.latest = latest
    same.spoken = spoken
    same.reached = reached
    same.earliest = earliest
    same
  }

  /** A copy with every input observed later by `moreMillis`, but not after `nowMillis`. */
  def heardLater(moreMillis: Long, nowMillis: Long): Coalescer = {
    val same = copy()
    def later(time: Long) = math.max(time, math.min(time + moreMillis, nowMillis))
    var input = 0
    while (input < count) {
      same.heard(input) = later(heard(input))
      input += 1
    }
    if (count > 0) {
      same.earliest = later(earliest)
      same.latest = later(latest)
      if (spoken != Long.MinValue) same.spoken = later(spoken)
    }
    same
  }

  /** The earliest time at which an active input was last observed, or an earlier time. */
  def earliestHeard: Long = earliest

  private def isActive(input: Int): Boolean = {
    val state = states(input)
    state == Active || state == CatchingUp
  }

  private def comeBack(input: Int, clockMillis: Long): Unit = {
    val clock = math.max(resting(input), clockMillis)
    if (states(input) == Idle) {
      idleCount -= 1
      activeCount += 1
      earliest = math.min(earliest, heard(input))
    }
    if (onReturn == OnReturn.CatchUp && clock < reached) {
      states(input) = CatchingUp
      rest(input, clock)
    } else {
      states(input) = Active
      taking.update(input, clock)
    }
  }

  /** Makes an active input idle; [[settle]] has to follow. */
  private[core] def leave(input: Int): Unit = {
    if (states(input) == Active) {
      rest(input, taking(input))
      taking.update(input, MinTournamentTree.Absent)
    }
    states(input) = Idle
    activeCount -= 1
    idleCount += 1
  }

  private def rest(input: Int, clockMillis: Long): Unit = {
    if (isRestingShared) {
      resting = resting.clone()
      isRestingShared = false
    }
    resting(input) = clockMillis
  }

  private def risen(least: Long, active: Int): Long =
    if (active == 0) math.max(reached, top)
    // If all active inputs are catching up, nothing is known.
    else if (least == MinTournamentTree.Absent) reached
    else math.max(reached, least)

  private def grow(size: Int): Unit =
    if (size > taking.capacityNow) {
      taking.grow(size)
      resting = java.util.Arrays.copyOf(resting, taking.capacityNow)
      isRestingShared = false
      states = java.util.Arrays.copyOf(states, taking.capacityNow)
      heard = java.util.Arrays.copyOf(heard, taking.capacityNow)
    }
}

object Coalescer {

  /** Inputs as they were written, the first `count` of each array. */
  def restored(count: Int, clocks: Array[Long], heard: Array[Long], states: Array[Byte]): Coalescer = {
    val all = new Coalescer(OnReturn.Hold, count)
    all.count = count
    var input = 0
    while (input < count) {
      val clock = clocks(input)
      val state = states(input)
      all.heard(input) = heard(input)
      all.states(input) = state
      all.top = math.max(all.top, clock)
      all.latest = math.max(all.latest, heard(input))
      if (clock != NoClock) all.spoken = math.max(all.spoken, heard(input))
      if (state == Active) all.taking.numbers(input) = clock else all.resting(input) = clock
      if (state == Active || state == CatchingUp) {
        all.activeCount += 1
        all.earliest = math.min(all.earliest, heard(input))
      } else all.idleCount += 1
      input += 1
    }
    all.taking.replayAll()
    all.settle()
    all
  }

  /** The clock of an input without one, earlier than every clock. */
  final val NoClock: Long = Long.MinValue

  /** The states of an input, as the checkpoint has them. No entry was ever written with 2. */
  final val Active: Byte = 0
  final val Idle: Byte = 1

  /** Active again, but still behind the watermark, and left out until it is there. */
  final val CatchingUp: Byte = 3

  def isState(code: Long): Boolean = code == Active || code == Idle || code == CatchingUp

  /** @param idle whether all inputs are idle */
  final case class Prospect(watermark: Long, idle: Boolean)
}
