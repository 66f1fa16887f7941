package io.tidemark.core.why

import io.tidemark.core.OriginName
import io.tidemark.core.noted.TopicLocation

/** Why nothing comes out of a query, where the answer is one input, which holds results back. Times are ms since the epoch.
  * @see [[Verdict]]
  */
sealed abstract class InputVerdict(code: String, isTrouble: Boolean) extends Verdict(code, isTrouble) {
  def origin: OriginName
  override def heldBy: Option[OriginName] = Some(origin)
  protected def input(words: Words): String = words.name(origin.toString)
}

object InputVerdict {
  import IdleAdvice._
  import Situation.LeftOut
  import Verdict.Operator
  import Words.{counted, length}

  /** An event time far ahead of the wall clock has moved what `moved` names, which has to be taken back. */
  sealed trait AheadOfClock extends InputVerdict {
    protected def moved: String
    override def fix(words: Words): Option[String] = Some(takenBack(moved, input(words)))
  }

  /** How a clock of the far future is corrected.
    * @param moved what the wrong event time has moved; @param input the input's name, as the sentence writes it
    */
  private[why] def takenBack(moved: String, input: String): String =
    s"stopping the query, taking the $moved back with tidemark.correct(checkpoint, key=$input), and setting max_ahead on $input"

  final case class FarAhead(operator: Operator, origin: OriginName, eventTimeMillis: Long, nowMillis: Long, rows: Long)
      extends InputVerdict("FAR_AHEAD", isTrouble = true) with AheadOfClock {
    protected def moved: String = "watermark"
    def sentence(words: Words): String =
      s"Everything is late: ${dropped(rows)} at $operator. An event time of " +
        s"${input(words)} is ${words.at(eventTimeMillis)}, ${length(eventTimeMillis - nowMillis)} ahead of the " +
        "wall clock, and the watermark went with it."
  }

  private def dropped(rows: Long): String =
    if (rows == 1) "the only row of the last batch was dropped"
    else s"all ${counted(rows, "row")} of the last batch were dropped"

  /** @param split the split whose clock it is, if the input is split; @param clockMillis where the clock is */
  final case class ClockFarAhead(
      operator: Operator,
      origin: OriginName,
      split: Option[String],
      clockMillis: Long,
      nowMillis: Long)
      extends InputVerdict("CLOCK_FAR_AHEAD", isTrouble = true) with AheadOfClock {
    protected def moved: String = "clocks"
    def sentence(words: Words): String = {
      val clock = s"${split.fold("")(name => s"split ${words.name(name)} of ")}${input(words)}"
      s"A wrong event time has moved $clock to ${words.at(clockMillis)}, ${length(clockMillis - nowMillis)} ahead of the wall " +
        s"clock. The watermark of $operator follows as soon as nothing else holds it, and then every row is late."
    }
  }

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
      if (hasRows) "checking how the event-time column is parsed: a text that is no timestamp becomes null"
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

  /** @param behindMillis how far it is behind the split that is furthest ahead; `None` if it has no clock yet
    * @param notedIn the mark log, if the split is a writer
    * @param seenOnce how many splits the input has, if nearly every one has rows in one batch and never again
    */
  final case class HeldBySplit(
      operator: Operator,
      origin: OriginName,
      split: Situation.Split,
      behindMillis: Option[Long],
      nowMillis: Long,
      notedIn: Option[String],
      seenOnce: Option[Int] = None,
      countsSilence: Boolean = true)
      extends InputVerdict("HELD_BY_SPLIT", isTrouble = !HeldBySplit.catchesUp(split, notedIn.nonEmpty)) {
    private def isNoted: Boolean = notedIn.nonEmpty
    private def kind: String = if (isNoted) "writer" else "split"
    def sentence(words: Words): String = {
      val standing = (split.clockMillis, behindMillis) match {
        case (Some(clock), Some(behind)) => s"is at ${words.at(clock)}, ${length(behind)} behind the furthest"
        case _ => if (isNoted) "has noted no time yet" else "has had no row yet"
      }
      val next = split.next.fold("")(waits => s"; its next mark waits for $waits")
      val last = (split.lastActiveMillis, split.clockMillis) match {
        case (Some(at), _) if isNoted => s"The query last had news of it at ${words.at(at)}. "
        case (Some(at), _) => s"It was last active at ${words.at(at)}. "
        case (None, None) => "It was never active. "
        case (None, Some(_)) => ""
      }
      val idle = split.leftOut.fold("It has no idle_after, so it holds forever if nothing comes.")(
        silence("It", _, nowMillis, countsSilence, words, if (isNoted) "note more" else "have rows"))
      val live =
        if (HeldBySplit.catchesUp(split, isNoted))
          "It had rows in the last batch that read any, so results come out as it catches up. "
        else last
      s"${operator.waitsFor(input(words))}, whose $kind ${words.name(split.name)} $standing$next. " +
        s"$live$idle${seenOnce.fold("")(splits => s" ${SeenOnce.sentence(splits)}")}"
    }
    override def fix(words: Words): Option[String] = (seenOnce, split.leftOut) match {
      case (Some(_), _) => Some(SeenOnce.fix(input(words)))
      case (None, _) if split.next.nonEmpty => None
      case (None, None) => Some(withoutIdleTime(words))
      case (None, Some(_)) =>
        Option.unless(countsSilence || HeldBySplit.catchesUp(split, isNoted))(CountDowntime)
    }

    private def withoutIdleTime(words: Words): String = notedIn match {
      case Some(log) =>
        s"starting writer ${words.name(split.name)} again, by ${HeldBySplit.ending(log, split.name)} if it is gone for " +
          s"good, or by setting idle_after on ${input(words)}${alsoCounting(countsSilence)} if a writer that notes nothing " +
          "sends no rows either"
      case None =>
        val idle =
          s"setting idle_after on ${input(words)}, longer than any pause of a split that will have rows again" +
            (if (countsSilence) "" else "," + alsoCounting(countsSilence))
        if (HeldBySplit.catchesUp(split, isNoted)) s"letting it catch up, or, if it may become silent, by $idle"
        else idle
    }
  }

  object HeldBySplit {

    /** Whether a split that is behind has rows: then results come out as it advances. A writer's rows say nothing of its marks. */
    private def catchesUp(split: Situation.Split, isNoted: Boolean): Boolean =
      split.isLive && split.clockMillis.nonEmpty && !isNoted

    private val OtherStore = "(?!file:)[A-Za-z][A-Za-z0-9+.-]+:.*".r

    /** The call that ends a writer. A log in Kafka needs settings that only the user knows, and in an object store Python does
      * not write.
      */
    private def ending(log: String, writer: String): String = {
      def call(settings: String) =
        s"tidemark.marks.Marks(${Words.quoted(log)}$settings).writer(${Words.quoted(writer)}).end()"
      if (TopicLocation.isTopic(log)) call(", options=settings")
      else if (OtherStore.matches(log)) "ending it"
      else call("")
    }
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
      countsSilence: Boolean = true)
      extends InputVerdict("HELD_BY_INPUT", isTrouble = true) {
    def sentence(words: Words): String = {
      val last = lastActiveMillis.fold("")(at => s" and last had rows at ${words.at(at)}")
      // A join waits for it anyway.
      val idle =
        leftOut.filterNot(_ => atJoin).fold("")(" " + silence(input(words), _, nowMillis, countsSilence, words))
      s"${operator.waitsFor(input(words))}, which is at ${words.at(reachedMillis)}$last. " +
        s"${words.name(ahead.toString)} is at ${words.at(aheadMillis)}, ${length(aheadMillis - reachedMillis)} ahead.$idle"
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
      idleAfterMillis: Option[Long])
      extends InputVerdict("JOIN_WAITS_FOR_IDLE", isTrouble = true) {
    def sentence(words: Words): String = {
      val at = reachedMillis.fold("")(reached => s" with its watermark at ${words.at(reached)}")
      s"${operator.problem}: ${input(words)} is idle$at, and $join waits for it, because rows that it may still bring " +
        "could match."
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
      advances: Boolean = false)
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
      s"All inputs of $operator are silent$since. $standing"
    }
    override def fix(words: Words): Option[String] = Option.when(!advances)(
      s"setting ${idle(idleAfterMillis, "when_all=\"advance\"")} on ${input(words)}, if windows are to be emitted " +
        "while nothing arrives")
  }
}
