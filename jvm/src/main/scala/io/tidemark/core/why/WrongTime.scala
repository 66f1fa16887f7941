package io.tidemark.core.why

import io.tidemark.core.OriginName

/** Why nothing comes out of a query, or why what comes out is wrong, where event times of an input cannot be right. Times are ms
  * since the epoch.
  */
object WrongTime {
  import Verdict.Operator
  import Words.{counted, length}

  /** How a clock of the far future is corrected.
    * @param moved what the wrong event time has moved
    * @param lastGoodMillis the watermark before it was moved, if that is known; by default clocks go to now
    */
  private[why] def takenBack(moved: String, origin: OriginName, lastGoodMillis: Option[Long], words: Words): String = {
    val input = words.name(origin.toString)
    val to = lastGoodMillis.fold("")(millis => s", to=\"${words.at(millis)}\"")
    s"stopping the query, taking the $moved back with tidemark.correct(checkpoint, key=$input$to), and setting max_ahead on $input"
  }

  /** An event time far ahead of the wall clock has moved what `moved` names, which has to be taken back. */
  sealed abstract class AheadOfClock(code: String, moved: String) extends InputVerdict(code, isTrouble = true) {
    def lastGoodMillis: Option[Long]
    protected def inOtherUnit(millis: Long, nowMillis: Long, words: Words): String =
      TimeUnitGuess.of(millis, nowMillis).fold("")(guess => s" ${guess.sentence(words)}")
    override def fix(words: Words): Option[String] = Some(takenBack(moved, origin, lastGoodMillis, words))
  }

  /** It has moved the watermark, and all rows are late. */
  final case class FarAhead(
      operator: Operator,
      origin: OriginName,
      eventTimeMillis: Long,
      nowMillis: Long,
      rows: Long,
      lastGoodMillis: Option[Long] = None)
      extends AheadOfClock("FAR_AHEAD", "watermark") {
    private def dropped =
      if (rows == 1) "the only row of the last batch was dropped"
      else s"all ${counted(rows, "row")} of the last batch were dropped"
    def sentence(words: Words): String =
      s"Everything is late: $dropped at $operator. An event time of " +
        s"${input(words)} is ${words.at(eventTimeMillis)}, ${length(eventTimeMillis - nowMillis)} ahead of the " +
        s"wall clock, and the watermark went with it.${inOtherUnit(eventTimeMillis, nowMillis, words)}"
  }

  /** It has moved one clock of several.
    * @param split the split whose clock it is, if the input is split; @param clockMillis where the clock is
    */
  final case class ClockFarAhead(
      operator: Operator,
      origin: OriginName,
      split: Option[String],
      clockMillis: Long,
      nowMillis: Long,
      lastGoodMillis: Option[Long] = None)
      extends AheadOfClock("CLOCK_FAR_AHEAD", "clocks") {
    def sentence(words: Words): String = {
      val clock = s"${split.fold("")(name => s"split ${words.name(name)} of ")}${input(words)}"
      s"A wrong event time has moved $clock to ${words.at(clockMillis)}, ${length(clockMillis - nowMillis)} ahead of the wall " +
        s"clock. The watermark of $operator follows as soon as nothing else holds it, and then every row is late." +
        inOtherUnit(clockMillis, nowMillis, words)
    }
  }

  /** The event times of an input seem to be in another unit.
    * @param isAhead whether that has moved the watermark into the future
    */
  final case class WrongUnit(
      operator: Operator,
      origin: OriginName,
      eventTimeMillis: Long,
      guess: TimeUnitGuess,
      isAhead: Boolean,
      lastGoodMillis: Option[Long] = None)
      extends InputVerdict("WRONG_UNIT", isTrouble = true) {
    def sentence(words: Words): String =
      s"$operator uses an event time of ${input(words)} that seems to be in another unit: " +
        s"${words.at(eventTimeMillis)}. ${guess.sentence(words)}"
    override def fix(words: Words): Option[String] = {
      val taken = if (isAhead) s", and ${takenBack("watermark", origin, lastGoodMillis, words)}" else ""
      Some(s"making the column with ${guess.function}$taken")
    }
  }
}
