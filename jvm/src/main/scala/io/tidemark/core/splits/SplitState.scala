package io.tidemark.core.splits

/** Whether a split holds the watermark.
  *
  * @param code what stands for it in the checkpoint, and in the arrays of a [[Coalescer]], which hold a byte for each of
  *   up to millions of splits. No entry was ever written with 2
  */
sealed abstract class SplitState(val code: Byte)

object SplitState {

  /** The split holds the watermark by its clock. */
  case object Active extends SplitState(0)

  /** The split is left out until it has rows again. */
  case object Idle extends SplitState(1)

  /** The split is active again, but still behind the watermark, and left out until it has caught up. */
  case object CatchingUp extends SplitState(3)

  def isCode(code: Long): Boolean = code == Active.code || code == Idle.code || code == CatchingUp.code

  private[splits] def of(code: Byte): SplitState =
    if (code == Active.code) Active else if (code == Idle.code) Idle else CatchingUp
}
