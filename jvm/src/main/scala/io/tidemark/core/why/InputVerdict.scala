package io.tidemark.core.why

import io.tidemark.core.OriginName

/** Why nothing comes out of a query, where the answer is one input, which holds results back. Times are ms since the epoch.
  * @see [[Verdict]]
  */
abstract class InputVerdict private[why] (code: String, isTrouble: Boolean) extends Verdict(code, isTrouble) {
  def origin: OriginName
  override def heldBy: Option[OriginName] = Some(origin)
  def operator: Verdict.Operator
  protected def input(words: Words): String = words.name(origin.toString)

  /** What the operator emits next, and what lets it out, if that is known. */
  def resumes: Option[NextResult] = None
  protected def resumed(words: Words): String = resumes.fold("")(" " + _.sentence(operator, words))
}

object InputVerdict {
  import IdleAdvice._
  import Situation.LeftOut
  import Verdict.Operator
  import Words.length

  /** @param hasRows whether rows without an event time are known to have come
    * @param isIdle whether it is idle already, as all other inputs are
    * @param atJoin whether a join waits for the input even while it is idle
    * @param idleAfterMillis its idle time, if it has one
    */
  final case class NoEventTime(
      operator: Operator,
      origin: OriginName,
      hasRows: Boolean,
      isIdle: Boolean = false,
      atJoin: Boolean = false,
      idleAfterMillis: Option[Long] = None,
      countsSilence: Boolean = true)
      extends InputVerdict("NO_EVENT_TIME", isTrouble = true) {
    def sentence(words: Words): String =
      if (hasRows)
        s"${operator.waitsFor(input(words))}, whose rows so far have no event time."
      else
        s"${operator.waitsFor(input(words))}, which has had no row with an event time " +
          "yet."
    override def fix(words: Words): Option[String] = Some(
      if (hasRows) "checking how the event-time column is parsed: a text that is not a timestamp becomes null"
      else
        "checking that rows arrive there and that their event time is not null" +
          goingOnWithout(words).fold("")(how => s", or by $how"))
    // It is not what the others wait for.
    private def goingOnWithout(words: Words): Option[String] =
      if (isIdle) None else withoutInput(input(words), atJoin, idleAfterMillis, countsSilence)(identity)
  }

  /** An input whose clocks are marks, in a log without any. */
  final case class NoMarks(operator: Operator, origin: OriginName, log: String)
      extends InputVerdict("NO_MARKS", isTrouble = true) {
    def sentence(words: Words): String =
      s"${operator.waitsFor(input(words))}, and no writer has noted a time in " +
        s"${words.name(log)} yet."
    override def fix(words: Words): Option[String] =
      Some("starting a writer that notes its times there, or by correcting the location of the mark log")
  }

  /** A writer whose next mark cannot be passed. */
  final case class HeldByMark(operator: Operator, origin: OriginName, writer: String, fault: Situation.Fault)
      extends InputVerdict("HELD_BY_MARK", isTrouble = true) {
    def sentence(words: Words): String =
      s"$operator waits for ${input(words)}, whose writer ${words.name(writer)} holds it. ${fault.what}"
    override def fix(words: Words): Option[String] = Some(fault.fix)
  }

  /** @param aheadMillis where the furthest other input is
    * @param atJoin whether a join waits for the input even while it is idle
    */
  final case class HeldByInput(
      operator: Operator,
      origin: OriginName,
      reachedMillis: Long,
      lastActiveMillis: Option[Long],
      ahead: OriginName,
      aheadMillis: Long,
      nowMillis: Long,
      idleAfterMillis: Option[Long] = None,
      leftOut: Option[LeftOut] = None,
      atJoin: Boolean = false,
      countsSilence: Boolean = true,
      override val resumes: Option[NextResult] = None)
      extends InputVerdict("HELD_BY_INPUT", isTrouble = true) {
    def sentence(words: Words): String = {
      val last = lastActiveMillis.fold("")(at => s" and last had rows at ${words.at(at)}")
      // A join waits for it anyway.
      val idle =
        leftOut.filterNot(_ => atJoin).fold("")(" " + silence(input(words), _, nowMillis, countsSilence, words))
      s"${operator.waitsFor(input(words))}, which is at ${words.at(reachedMillis)}$last. " +
        s"${words.name(ahead.toString)} is at ${words.at(aheadMillis)}, ${length(aheadMillis - reachedMillis)} ahead.$idle${resumed(words)}"
    }
    override def fix(words: Words): Option[String] =
      withoutInput(input(words), atJoin, idleAfterMillis, countsSilence) { set =>
        s"$set, if it may be silent${if (atJoin) s" and $RowsMayBeLate" else ""}"
      }
  }

  /** @param join the one that waits, of those below the operator */
  final case class JoinWaitsForIdle(
      operator: Operator,
      join: String,
      origin: OriginName,
      reachedMillis: Option[Long],
      idleAfterMillis: Option[Long],
      override val resumes: Option[NextResult] = None)
      extends InputVerdict("JOIN_WAITS_FOR_IDLE", isTrouble = true) {
    def sentence(words: Words): String = {
      val at = reachedMillis.fold("")(reached => s" with its watermark at ${words.at(reached)}")
      s"${operator.problem}: ${input(words)} is idle$at, and $join waits for it, because rows that it may still bring " +
        s"could match.${resumed(words)}"
    }
    override def fix(words: Words): Option[String] =
      Some(s"setting ${idle(idleAfterMillis, "at_join=\"follow\"")} on ${input(words)}, if $RowsMayBeLate")
  }

  final case class AllSilent(
      operator: Operator,
      origin: OriginName,
      reachedMillis: Option[Long],
      sinceMillis: Option[Long],
      idleAfterMillis: Option[Long],
      advances: Boolean = false,
      override val resumes: Option[NextResult] = None)
      extends InputVerdict("ALL_SILENT", isTrouble = false) {
    def sentence(words: Words): String = {
      val since = sinceMillis.fold("")(since => s" since ${words.at(since)}")
      val standing =
        if (advances) {
          // It only moves in batches, which do not run while nothing is due.
          val watermark =
            reachedMillis.fold("The watermark")(reached => s"The watermark is at ${words.at(reached)}. It")
          s"$watermark follows the clock, less the delay, as soon as that lets something out."
        } else
          s"Its watermark stays${reachedMillis.fold("")(reached => s" at ${words.at(reached)}")} while nothing arrives."
      s"All inputs of $operator are silent$since. $standing${resumed(words)}"
    }
    override def fix(words: Words): Option[String] = Option.when(!advances)(
      s"setting ${idle(idleAfterMillis, "when_all=\"advance\"")} on ${input(words)}, if windows are to be emitted " +
        "while nothing arrives")
  }
}
