package io.tidemark.core.why

import io.tidemark.core.OriginName

/** Why nothing comes out of a query, or that it does: one sentence, and what the user can do. Times are ms since the epoch.
  *
  * [[Diagnosis]] decides which case applies. `docs/why.md` has each of them.
  *
  * @param code a stable name of the case, in capitals
  * @param isTrouble whether results wait for something that need not come by itself, or rows are lost
  */
sealed abstract class Verdict(val code: String, val isTrouble: Boolean) {

  /** @param words how times and names are written */
  def sentence(words: Words): String

  /** What the user can do, to follow "Fix this by"; `None` if there is nothing to do. */
  def fix(words: Words): Option[String] = None

  /** The input that holds results back, if one does. */
  def heldBy: Option[OriginName] = None
}

object Verdict {
  import Words.{counted, length}

  /** The operator that a sentence is about.
    * @param name as reports have it, such as `aggregation #0`
    * @param emitsAtOnce whether its results come out anyway, so that it is the state that stays
    */
  final case class Operator(name: String, emitsAtOnce: Boolean = false) {
    override def toString: String = name

    private[why] def problem: String = if (emitsAtOnce) "State is not evicted" else "Nothing comes out"
  }

  final case class LeftToSpark(reason: String) extends Verdict("LEFT_TO_SPARK", isTrouble = false) {
    def sentence(words: Words): String = s"Watermarks are Spark's own here: $reason."
  }

  final case class NoBatchYet(isRestart: Boolean) extends Verdict("NO_BATCH_YET", isTrouble = false) {
    def sentence(words: Words): String =
      if (isRestart) "No batch has run since the restart. One runs when a row arrives, and not before."
      else "No batch has ended yet."
  }

  case object NoOperatorWaits extends Verdict("NO_OPERATOR_WAITS", isTrouble = false) {
    def sentence(words: Words): String =
      "Rows come out in the batch that reads them: no operator waits for a watermark."
  }

  final case class EmitsAll(operator: Operator) extends Verdict("EMITS_ALL", isTrouble = false) {
    def sentence(words: Words): String =
      s"Output mode complete emits all results of $operator in every batch. No row is late there, and no state is evicted."
  }

  final case class FarAhead(operator: Operator, origin: OriginName, eventTimeMillis: Long, nowMillis: Long, rows: Long)
      extends Verdict("FAR_AHEAD", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String =
      s"Everything is late: all ${counted(rows, "row")} of the last batch were dropped at $operator. An event time of " +
        s"${words.name(origin.toString)} is ${words.at(eventTimeMillis)}, ${length(eventTimeMillis - nowMillis)} ahead of the " +
        "wall clock, and the watermark went with it."
    override def fix(words: Words): Option[String] = Some(
      s"stopping the query, taking the watermark back with tidemark.correct(checkpoint, key=${words.name(origin.toString)}), " +
        s"and setting max_ahead on ${words.name(origin.toString)}")
  }

  /** @param isSplit whether it is the clock of one split; @param clockMillis where the clock is */
  final case class ClockFarAhead(
      operator: Operator,
      origin: OriginName,
      isSplit: Boolean,
      clockMillis: Long,
      nowMillis: Long)
      extends Verdict("CLOCK_FAR_AHEAD", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String = {
      val clock = s"${if (isSplit) "a split of " else ""}${words.name(origin.toString)}"
      s"A wrong event time has moved $clock to ${words.at(clockMillis)}, ${length(clockMillis - nowMillis)} ahead of the wall " +
        s"clock. The watermark of $operator follows as soon as nothing else holds it, and then every row is late."
    }
    override def fix(words: Words): Option[String] = Some(
      s"stopping the query, taking the clocks back with tidemark.correct(checkpoint, key=${words.name(origin.toString)}), " +
        s"and setting max_ahead on ${words.name(origin.toString)}")
  }

  final case class AllLate(operator: Operator, origin: Option[OriginName], rows: Long, mostMillis: Long)
      extends Verdict("ALL_LATE", isTrouble = true) {
    override def heldBy: Option[OriginName] = origin
    def sentence(words: Words): String =
      s"All ${counted(rows, "row")} of the last batch were late at $operator, by up to ${length(mostMillis)}, and were dropped."
    override def fix(words: Words): Option[String] =
      Some("using a longer delay, or split_by where some parts of the input are behind the others")
  }

  /** @param hasRows whether rows without an event time are known to have come */
  final case class NoEventTime(operator: Operator, origin: OriginName, hasRows: Boolean)
      extends Verdict("NO_EVENT_TIME", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String =
      if (hasRows)
        s"${operator.problem}: $operator waits for ${words.name(origin.toString)}, whose rows so far have no event time."
      else
        s"${operator.problem}: $operator waits for ${words.name(origin.toString)}, which has had no row with an event time " +
          "yet."
    override def fix(words: Words): Option[String] = Some(
      if (hasRows) "checking how the event-time column is parsed: a text that is no timestamp becomes null"
      else
        s"checking that rows arrive there and that their event time is not null, or by setting idle_after on " +
          s"${words.name(origin.toString)}")
  }

  /** An input whose clocks are marks, in a log without any. */
  final case class NoMarks(operator: Operator, origin: OriginName, log: String)
      extends Verdict("NO_MARKS", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String =
      s"${operator.problem}: $operator waits for ${words.name(origin.toString)}, and no writer has noted a time in " +
        s"${words.name(log)} yet."
    override def fix(words: Words): Option[String] =
      Some("starting a writer that notes its times there, or by correcting the location of the mark log")
  }

  /** A writer whose next mark cannot be passed. */
  final case class HeldByMark(operator: Operator, origin: OriginName, writer: String, fault: Situation.Fault)
      extends Verdict("HELD_BY_MARK", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String =
      s"$operator waits for ${words.name(origin.toString)}, whose writer ${words.name(writer)} holds it. ${fault.what}"
    override def fix(words: Words): Option[String] = Some(fault.fix)
  }

  /** @param behindMillis how far it is behind the split that is furthest ahead; `None` if it has no clock yet
    * @param seenOnce how many splits the input has, if nearly every one has rows in one batch and never again
    */
  final case class HeldBySplit(
      operator: Operator,
      origin: OriginName,
      split: Situation.Split,
      behindMillis: Option[Long],
      isNoted: Boolean,
      seenOnce: Option[Int] = None)
      extends Verdict("HELD_BY_SPLIT", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String = {
      val kind = if (isNoted) "writer" else "split"
      val standing = (split.clockMillis, behindMillis) match {
        case (Some(clock), Some(behind)) => s"stands at ${words.at(clock)}, ${length(behind)} behind the furthest"
        case _ => if (isNoted) "has noted no time yet" else "has had no row yet"
      }
      val next = split.next.fold("")(waits => s"; its next mark waits for $waits")
      val last = (split.lastActiveMillis, split.clockMillis) match {
        case (Some(at), _) => s"It was last active at ${words.at(at)}. "
        case (None, None) => "It was never active. "
        case (None, Some(_)) => ""
      }
      val idle = split.idleAtMillis.fold("It has no idle_after, so it holds for ever if nothing comes.") { at =>
        s"It is left out from ${words.at(at)} on if it stays silent."
      }
      s"${operator.problem}: $operator waits for ${words.name(origin.toString)}, whose $kind ${words.name(split.name)} $standing$next. " +
        s"$last$idle${seenOnce.fold("")(splits => s" ${SeenOnce.sentence(splits)}")}"
    }
    override def fix(words: Words): Option[String] = seenOnce match {
      case Some(_) => Some(SeenOnce.fix(words.name(origin.toString)))
      case None => Option.when(split.idleAtMillis.isEmpty && split.next.isEmpty)(
          s"setting idle_after on ${words.name(origin.toString)}, longer than any pause of a part that will go on")
    }
  }

  /** @param aheadMillis where the furthest other input is */
  final case class HeldByInput(
      operator: Operator,
      origin: OriginName,
      reachedMillis: Long,
      lastActiveMillis: Option[Long],
      ahead: OriginName,
      aheadMillis: Long,
      hasIdleTime: Boolean)
      extends Verdict("HELD_BY_INPUT", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String = {
      val last = lastActiveMillis.fold("")(at => s" It last had rows at ${words.at(at)}.")
      s"${operator.problem}: $operator waits for ${words.name(origin.toString)}, which stands at ${words.at(reachedMillis)}. " +
        s"${words.name(ahead.toString)} is at ${words.at(aheadMillis)}, ${length(aheadMillis - reachedMillis)} ahead.$last"
    }
    override def fix(words: Words): Option[String] =
      Option.when(!hasIdleTime)(s"setting idle_after on ${words.name(origin.toString)}, if it may be silent")
  }

  final case class JoinWaitsForIdle(operator: Operator, origin: OriginName, reachedMillis: Option[Long])
      extends Verdict("JOIN_WAITS_FOR_IDLE", isTrouble = true) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String = {
      val at = reachedMillis.fold("")(reached => s" at ${words.at(reached)}")
      s"${operator.problem}: ${words.name(origin.toString)} is idle$at, and $operator waits for it, " +
        "because rows that it may still bring could match."
    }
    override def fix(words: Words): Option[String] = Some(
      s"""setting idle=tidemark.Idle(at_join="follow") on ${words.name(
          origin.toString)}, if its late rows may go unmatched""")
  }

  final case class AllSilent(
      operator: Operator,
      origin: OriginName,
      reachedMillis: Option[Long],
      sinceMillis: Option[Long],
      advances: Boolean = false)
      extends Verdict("ALL_SILENT", isTrouble = false) {
    override def heldBy: Option[OriginName] = Some(origin)
    def sentence(words: Words): String = {
      val at = reachedMillis.fold("")(reached => s" at ${words.at(reached)}")
      val since = sinceMillis.fold("")(since => s" since ${words.at(since)}")
      val standing =
        if (advances) s"The watermark is$at and follows the clock, less the delay."
        else s"Their watermarks stay$at until a row arrives."
      s"All inputs of $operator are silent$since. $standing"
    }
    override def fix(words: Words): Option[String] = Option.when(!advances)(
      s"""setting idle=tidemark.Idle(when_all="advance") on ${words.name(
          origin.toString)}, if windows are to be emitted """ +
        "while nothing arrives")
  }

  /** A batch without rows would emit windows or rows, but the session forbids it.
    * @param held the rows that wait, if it is rows
    */
  final case class NoDataBatchesOff(operator: Operator, dueMillis: Long, held: Option[Situation.Held])
      extends Verdict("NO_DATA_BATCHES_OFF", isTrouble = true) {
    def sentence(words: Words): String = held match {
      case None =>
        s"The window of $operator that ends at ${words.at(dueMillis)} is complete, and waits for the next row: " +
          "no-data batches are off."
      case Some(rows) =>
        s"$operator holds ${counted(rows.rows, "row")}. The first could come out, and waits for the next row: " +
          "no-data batches are off."
    }
    override def fix(words: Words): Option[String] =
      Some("setting spark.sql.streaming.noDataMicroBatches.enabled to true")
  }

  final case class NeverEvicts(operator: Operator, side: String) extends Verdict("NEVER_EVICTS", isTrouble = true) {
    def sentence(words: Words): String =
      s"$operator keeps the rows of its $side side for ever, because its condition does not bound their time."
    override def fix(words: Words): Option[String] =
      Some("adding a time range between both event times to the join condition")
  }

  /** @param delayMillis how far the watermark is behind the latest event time of the input, if it is by its delay
    * @param nextMillis the end of the next window, or the watermark that lets the first row go that waits
    * @param held the rows that wait, if rows do
    * @param neededDelayMillis how far an event time of the input has to be beyond a watermark that it moves
    */
  final case class Flowing(
      operator: Operator,
      origin: Option[OriginName],
      reachedMillis: Long,
      delayMillis: Option[Long],
      nextMillis: Option[Long],
      held: Option[Situation.Held],
      neededDelayMillis: Option[Long])
      extends Verdict("FLOWING", isTrouble = false) {
    def sentence(words: Words): String = {
      val behind = for (name <- origin; delay <- delayMillis)
        yield s", ${length(delay)} behind the latest event time of ${words.name(name.toString)}"
      val next = for {
        due <- nextMillis
        delay <- neededDelayMillis
        emitted = s"is emitted once an event time reaches ${words.at(due + delay)}"
      } yield held match {
        case None => s" The next window ends at ${words.at(due)} and $emitted."
        case Some(rows) =>
          val last = if (rows.rows < 2) "" else s", and the last once one reaches ${words.at(rows.lastMillis + delay)}"
          s" It holds ${counted(rows.rows, "row")}: the first $emitted$last."
      }
      val done = if (operator.emitsAtOnce) "evicted its state" else "emitted what was due"
      s"$operator has $done up to ${words.at(reachedMillis)}${behind.getOrElse("")}.${next.getOrElse("")}"
    }
  }
}
