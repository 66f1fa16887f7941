package io.tidemark.core.why

/** What is said of an input of which nearly every split has rows in one batch and never again, such as one split for each
  * id of an event.
  */
object SeenOnce {
  def sentence(splits: Int): String =
    s"Nearly all of its ${Words.counted(splits.toLong, "split")} have had rows in one batch only."

  /** @param input its name in a sentence */
  def fix(input: String): String =
    s"splitting $input by something that has rows again and again, such as a device or a partition"
}
