package io.tidemark.core.splits

/** The names and clocks of splits, which versions of [[Splits]] share.
  *
  * @param isFrozen whether nothing in it changes from now on, so that any thread may read it
  */
private[splits] final class SplitStore(val names: SplitNameTable, val clocks: Coalescer, val isFrozen: Boolean) {

  /** A copy that changes independently. The names are not copied before they have to be. */
  def copy(isFrozen: Boolean): SplitStore = new SplitStore(names.sharing(), clocks.copy(), isFrozen)

  /** Changes these splits to those of another version, and returns the way back.
    * @param way how that version differs; @param to its totals
    */
  def follow(way: SplitJournal, to: CoalescerTotals): SplitJournal = {
    val back = new SplitJournal(clocks.size, way.size + math.max(0, clocks.size - to.size))
    way.names.foreach(name => names.add(name))
    clocks.follow(way, to, back)
    if (names.size > to.size) back.names = Array.fill(names.size - to.size)(names.removeLast()).reverse
    back
  }
}
