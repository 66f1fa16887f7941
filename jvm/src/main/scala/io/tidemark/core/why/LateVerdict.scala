package io.tidemark.core.why

import io.tidemark.core.OriginName

/** Why nothing comes out of a query, where rows are late. Times are lengths in ms. */
object LateVerdict {
  import Verdict.Operator
  import Words.{atLeast, counted, length}

  // A row at the watermark is late.
  private def by(words: String, mostMillis: Long): String =
    if (mostMillis == 0) "" else s", $words ${length(mostMillis)},"

  /** @param isBeforeEpoch whether the rows are from before 1970: no watermark is so early, as in Spark */
  final case class AllLate(
      operator: Operator,
      origin: Option[OriginName],
      rows: Long,
      mostMillis: Long,
      isBeforeEpoch: Boolean = false)
      extends Verdict("ALL_LATE", isTrouble = true) {
    override def heldBy: Option[OriginName] = origin
    def sentence(words: Words): String =
      if (rows == 1) s"The only row of the last batch was late at $operator${by("by", mostMillis)} and was dropped."
      else
        s"All ${counted(rows, "row")} of the last batch were late at $operator${by("by up to", mostMillis)} and were dropped."
    override def fix(words: Words): Option[String] = Some(
      if (isBeforeEpoch) "using event times after 1970, because as in Spark no watermark is earlier"
      else "using a longer delay, or split_by where some parts of the input are behind the others")
  }

  /** Rows are lost again and again, though others are not.
    * @param delayMillis the delay of the input with which all of them would have been on time, if the input is known
    * @param isSplit whether that input is split
    * @param worst the split that has lost most rows in this run, and how many, if that is known
    */
  final case class SomeLate(
      operator: Operator,
      origin: Option[OriginName],
      late: Long,
      all: Long,
      batches: Int,
      mostMillis: Long,
      delayMillis: Option[Long],
      isSplit: Boolean,
      worst: Option[(String, Long)] = None)
      extends Verdict("SOME_LATE", isTrouble = true) {
    override def heldBy: Option[OriginName] = origin
    def sentence(words: Words): String =
      s"${Words.grouped(late)} of the ${counted(all, "row")} of the last $batches batches were late at " +
        s"$operator${by("by up to", mostMillis)} and were dropped." +
        worst.fold("") { case (name, rows) =>
          s" Split ${words.name(name)} has lost most in this run, ${counted(rows, "row")}."
        }
    override def fix(words: Words): Option[String] = {
      val delay =
        delayMillis.fold("a longer delay")(needed => s"a delay of ${atLeast(needed)}, which would have kept them")
      Some(if (isSplit) s"using $delay" else s"using split_by, if they are of some parts of the input, or $delay")
    }
  }
}
