package io.tidemark.core.splits

/** The smallest clock of all inputs in state [[SplitState.Active]], found again after each change.
  *
  * Inputs lie in blocks of eight. A [[MinTournamentTree]] has the smallest clock of each block, so it takes an eighth of
  * the clocks' own space. The clocks and states themselves are in arrays of the [[Coalescer]].
  *
  * @param inputs the length of these arrays: whole blocks
  */
private[splits] final class BlockMinima(inputs: Int) {
  import BlockMinima._

  private val tree = new MinTournamentTree(inputs >>> BlockLog2)

  /** [[BlockMinima.Absent]] if no input is active. */
  def least: Long = tree.least

  /** Replaces a clock's old value by its new one ([[BlockMinima.Absent]]: not counted). `clocks` and `states` already
    * hold the new one.
    */
  def replay(input: Int, before: Long, after: Long, clocks: Array[Long], states: Array[Byte]): Unit = {
    val block = input >>> BlockLog2
    val smallest = tree(block)
    if (after <= smallest) { if (after < smallest) tree.update(block, after) }
    else if (before <= smallest) tree.update(block, leastOf(block, clocks, states))
  }

  /** Finds every minimum again. */
  def replayAll(clocks: Array[Long], states: Array[Byte]): Unit = {
    val all = tree.numbers
    var block = 0
    while (block < (clocks.length >>> BlockLog2)) {
      all(block) = leastOf(block, clocks, states)
      block += 1
    }
    tree.replayAll()
  }

  /** Makes room for inputs. Those that are new are not active. */
  def grow(inputs: Int): Unit = tree.grow(inputs >>> BlockLog2)
}

private[splits] object BlockMinima {

  /** Stands for a clock that does not count: larger than all others. */
  final val Absent: Long = MinTournamentTree.Absent

  private final val BlockLog2 = 3

  /** The number of inputs in whole blocks. */
  def rounded(capacity: Long): Int = {
    val whole = (math.max(capacity, 1L) + (1 << BlockLog2) - 1) >>> BlockLog2 << BlockLog2
    math.min(whole, Int.MaxValue.toLong >>> BlockLog2 << BlockLog2).toInt
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
