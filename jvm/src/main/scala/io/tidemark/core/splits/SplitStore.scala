package io.tidemark.core.splits

/** The names and clocks of splits, which versions of [[Splits]] share.
  *
  * @param isFrozen whether nothing in it changes from now on, so that any thread may read it
  */
private[splits] final class SplitStore(val names: SplitNameTable, val clocks: Coalescer, val isFrozen: Boolean) {

  /** A copy that changes independently. The names are not copied before they have to be. */
  def copy(isFrozen: Boolean): SplitStore = new SplitStore(names.sharing(), clocks.copy(), isFrozen)

  /** Changes these splits to those of another version, and returns how to change them back.
    * @param undo how that version differs; @param to its totals
    */
  def follow(undo: SplitJournal, to: CoalescerTotals): SplitJournal = {
    val redo = new SplitJournal(clocks.size, undo.size + math.max(0, clocks.size - to.size))
    undo.names.foreach(name => names.add(name))
    clocks.follow(undo, to, redo)
    if (names.size > to.size) redo.names = Array.fill(names.size - to.size)(names.removeLast()).reverse
    redo
  }
}
