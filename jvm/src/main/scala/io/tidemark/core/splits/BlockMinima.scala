package io.tidemark.core.splits

import java.util.Arrays

/** The smallest clock of all inputs in state [[SplitState.Active]].
  *
  * Inputs lie in blocks of 64, each with its smallest clock, so a change costs at most one pass over a block, and
  * [[least]] one pass over the blocks: about 10 µs for a million inputs. The clocks and states themselves are in arrays
  * of the [[Coalescer]].
  *
  * @param inputs the length of these arrays: whole blocks
  */
private[splits] final class BlockMinima(inputs: Int) {
  import BlockMinima._

  private var smallest = noClocks(inputs >>> BlockLog2)

  /** [[BlockMinima.Absent]] if no input is active. */
  def least: Long = {
    val smallest = this.smallest
    var least = Absent
    var block = 0
    while (block < smallest.length) {
      least = math.min(least, smallest(block))
      block += 1
    }
    least
  }

  /** Replaces a clock's old value by its new one ([[BlockMinima.Absent]]: not counted). `clocks` and `states` already
    * hold the new one.
    */
  def replace(input: Int, before: Long, after: Long, clocks: Array[Long], states: Array[Byte]): Unit = {
    val block = input >>> BlockLog2
    val least = smallest(block)
    if (after <= least) smallest(block) = after
    else if (before <= least) smallest(block) = leastOf(block, clocks, states)
  }

  /** Finds every minimum again. */
  def replaceAll(clocks: Array[Long], states: Array[Byte]): Unit = {
    var block = 0
    while (block < smallest.length) {
      smallest(block) = leastOf(block, clocks, states)
      block += 1
    }
  }

  /** Makes room for inputs. Those that are new are not active. */
  def grow(inputs: Int): Unit = {
    val before = smallest.length
    smallest = Arrays.copyOf(smallest, inputs >>> BlockLog2)
    Arrays.fill(smallest, before, smallest.length, Absent)
  }
}

private[splits] object BlockMinima {

  /** Stands for a clock that does not count: larger than all others. */
  final val Absent: Long = Long.MaxValue

  private final val BlockLog2 = 6

  /** The number of inputs in whole blocks. */
  def rounded(capacity: Long): Int = {
    val whole = (math.max(capacity, 1L) + (1 << BlockLog2) - 1) >>> BlockLog2 << BlockLog2
    math.min(whole, Int.MaxValue.toLong >>> BlockLog2 << BlockLog2).toInt
  }

  private def noClocks(blocks: Int): Array[Long] = {
    val smallest = new Array[Long](blocks)
    Arrays.fill(smallest, Absent)
    smallest
  }

  private def leastOf(block: Int, clocks: Array[Long], states: Array[Byte]): Long = {
    val active = SplitState.Active.code
    var least = Absent
    var input = block << BlockLog2
    val end = input + (1 << BlockLog2)
    while (input < end) {
      if (states(input) == active) least = math.min(least, clocks(input))
      input += 1
    }
    least
  }
}
