package io.tidemark.core.why

import io.tidemark.core.OriginName

/** Nothing holds results back. Times are ms since the epoch.
  *
  * @param reachedMillis up to where everything is emitted
  * @param delayMillis how far that is behind the latest event time of the input, if it is by its delay
  * @param next what is emitted after that
  * @param waitsForRow whether nothing is emitted up to there before a row arrives
  * @param aheadOfClockMillis how far the watermark of `origin` is ahead of the wall clock, if that is far
  * @param lastGoodMillis the watermark of `origin` before it was, if that is known
  * @param pending what the next batch has to do for it to be true
  */
final case class Flowing(
    operator: Verdict.Operator,
    origin: Option[OriginName],
    reachedMillis: Long,
    delayMillis: Option[Long],
    next: Option[NextResult],
    waitsForRow: Boolean = false,
    aheadOfClockMillis: Option[Long] = None,
    lastGoodMillis: Option[Long] = None,
    pending: Option[Flowing.Pending] = None)
    extends Verdict("FLOWING", isTrouble = false) {
  import Words.length

  def sentence(words: Words): String = {
    val behind = for (name <- origin; delay <- delayMillis)
      yield s", ${length(delay)} behind the latest event time of ${words.name(name.toString)}"
    val done = (operator.emitsAtOnce, waitsForRow) match {
      case (_, false) => s"has ${operator.done}"
      case (true, true) => "will evict its state"
      case (false, true) => "will emit what is due"
    }
    val row = if (waitsForRow) " The next row does that: no-data batches are off." else ""
    val ahead = aheadOfClockMillis.fold("") { far =>
      s" Its watermark is ${length(far)} ahead of the wall clock: rows with a time of today are late."
    }
    val reached = s"${words.at(reachedMillis)}${behind.getOrElse("")}"
    val first = pending.fold(s"$operator $done up to $reached.")(_.sentence(operator, reached, words))
    s"$first$row$ahead${next.fold("")(" " + _.sentence(operator, words))}"
  }

  override def fix(words: Words): Option[String] =
    for (name <- origin if aheadOfClockMillis.nonEmpty)
      yield s"${WrongTime.takenBack("watermark", name, lastGoodMillis, words)}, if the event time there is wrong"
}

object Flowing {

  /** What the next batch does that no batch has done, as all that the last one has not.
    * @param emittedMillis up to where an earlier batch has done it, if one has
    */
  final case class Pending(emittedMillis: Option[Long], next: Situation.NextBatch) {
    private[why] def sentence(operator: Verdict.Operator, reached: String, words: Words): String = {
      val before = emittedMillis.fold("")(millis => s"$operator has ${operator.done} up to ${words.at(millis)}. ")
      val what =
        if (operator.emitsAtOnce) s"State of $operator is evicted up to $reached"
        else s"What is due at $operator up to $reached is emitted"
      val when = next match {
        case Situation.NextBatch.Soon => "by the next batch"
        case Situation.NextBatch.AtTrigger(every) => s"at the next trigger: there is one every ${Words.length(every)}"
        case Situation.NextBatch.InNextRun(true) => "when the query is started again"
        case Situation.NextBatch.InNextRun(false) => "by the first rows after the query is started again"
      }
      s"$before$what $when."
    }
  }
}
