package io.tidemark.core.splits

/** What is known of all inputs together. Immutable.
  *
  * @param active those that are not idle
  * @param catchingUp those of the active ones that catch up
  * @param largest the largest clock that any input has had
  * @param lastActive the last time at which any input was observed, or added; `Long.MinValue` if there is no input
  * @param lastRows the last time at which an input with a clock was observed; `Long.MinValue` if none has a clock
  * @param earliest no active input was last observed before this time. It may be too early, never too late
  * @param later by how much the last active times of all inputs have become later together, ms
  */
private[core] final case class CoalescerTotals(
    size: Int,
    active: Int,
    catchingUp: Int,
    idle: Int,
    largest: Long,
    lastActive: Long,
    lastRows: Long,
    watermark: Long,
    earliest: Long,
    later: Long) {

  /** Whether there are inputs, and all of them are idle. */
  def isIdle: Boolean = active == 0 && idle > 0
}
