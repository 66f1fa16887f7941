package io.tidemark.core.memory

/** Why nothing came out of a query when a batch had ended, in the words of its report. Nothing is decided by it. It is that
  * of an earlier batch while working it out would take too long.
  *
  * @param code a stable name of the case, in capitals
  * @param fix what the user can do, to follow "Fix this by"; `None` if there is nothing to do
  * @param heldBy the key of the input that holds results back, or whose rows are lost, if the sentence names one
  * @param isTrouble whether results wait for something that need not come by itself, or rows are lost
  */
final case class ReasonText(
    code: String,
    sentence: String,
    fix: Option[String],
    heldBy: Option[String],
    isTrouble: Boolean)
