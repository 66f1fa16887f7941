package io.tidemark.core.splits

import java.util.Arrays

/** How a version of an origin's splits differs from the next version: a few splits as they are in this version. Each has
  * its clock, its own last active time ([[Coalescer.ownLastActive]]) and its state, which take 21 bytes.
  *
  * @param splits how many splits the version has. Later splits are not noted, because it does not have them
  * @param expected how many splits may be noted; more are allowed
  */
private[splits] final class SplitJournal(splits: Int, expected: Int) {
  private var numbers = new Array[Int](math.max(expected, 4))
  private var clocks = new Array[Long](numbers.length)
  private var times = new Array[Long](numbers.length)
  private var states = new Array[Byte](numbers.length)
  private var count = 0

  /** The names of the last splits of the version, if the version after it lacks these splits. */
  var names: Array[Array[Byte]] = SplitJournal.NoNames

  /** How many splits are noted. If one is noted twice, the first entry counts. */
  def size: Int = count

  def split(entry: Int): Int = numbers(entry)
  def clock(entry: Int): Long = clocks(entry)
  def lastActive(entry: Int): Long = times(entry)
  def state(entry: Int): Byte = states(entry)

  /** Notes a split before it changes. */
  def record(split: Int, clockMillis: Long, lastActiveMillis: Long, state: Byte): Unit = if (split < splits) {
    if (count == numbers.length) grow()
    numbers(count) = split
    clocks(count) = clockMillis
    times(count) = lastActiveMillis
    states(count) = state
    count += 1
  }

  private def grow(): Unit = {
    val length = math.min(count * 2L, Int.MaxValue - 8L).toInt
    numbers = Arrays.copyOf(numbers, length)
    clocks = Arrays.copyOf(clocks, length)
    times = Arrays.copyOf(times, length)
    states = Arrays.copyOf(states, length)
  }
}

private[splits] object SplitJournal {
  private val NoNames = new Array[Array[Byte]](0)
}
