package io.tidemark.core.why

import io.tidemark.core.OriginName
import io.tidemark.core.memory.ReasonText

/** Why nothing comes out of a query, or that it does: one sentence, and what the user can do. Times are ms since the epoch.
  *
  * [[Diagnosis]] decides which case applies. `docs/why.md` has each of them. Most are of one input ([[InputVerdict]]).
  *
  * @param code a stable name of the case, in capitals
  * @param isTrouble whether results wait for something that need not come by itself, or rows are lost
  */
abstract class Verdict private[why] (val code: String, val isTrouble: Boolean) {

  /** @param words how times and names are written */
  def sentence(words: Words): String

  /** What the user can do, to follow "Fix this by"; `None` if there is nothing to do. */
  def fix(words: Words): Option[String] = None

  /** The sentence, and what the user can do. */
  final def message(words: Words): String = sentence(words) + fix(words).fold("")(how => s" Fix this by $how.")

  /** The input that holds results back, or whose rows are lost, if the sentence names one. */
  def heldBy: Option[OriginName] = None

  def text(words: Words): ReasonText = ReasonText(code, sentence(words), fix(words), heldBy.map(_.toString), isTrouble)
}

object Verdict {
  import Words.{atLeast, counted, length}

  private val LongestError = 200

  /** The operator that a sentence is about.
    * @param name as reports have it, such as `aggregation #0`
    */
  final case class Operator(name: String, stays: Stays = Stays.Results) {
    override def toString: String = name

    private[why] def emitsAtOnce: Boolean = stays == Stays.State
    private[why] def problem: String = stays.problem
    private[why] def done: String = if (emitsAtOnce) "evicted its state" else "emitted what was due"
    private[why] def waitsFor(input: String): String = s"$problem: $this waits for $input"
  }

  /** What stays in an operator that waits. */
  sealed abstract class Stays(private[why] val problem: String)
  object Stays {
    case object Results extends Stays("Nothing comes out")

    /** Some have come out in this run. */
    case object MoreResults extends Stays("Nothing more comes out")

    /** Of an outer join, whose matches come out anyway. */
    case object RowsWithoutMatch extends Stays("Rows without a match do not come out")

    /** All results come out anyway. */
    case object State extends Stays("State is not evicted")
  }

  final case class LeftToSpark(reason: String) extends Verdict("LEFT_TO_SPARK", isTrouble = false) {
    def sentence(words: Words): String = s"Watermarks are Spark's own here: $reason."
  }

  case object NoWatermark extends Verdict("NO_WATERMARK", isTrouble = false) {
    def sentence(words: Words): String = "The query has no watermark, so nothing in it waits for one."
  }

  /** The query has ended with an error.
    * @param batch the one that has not been committed, if it is known
    * @param what the first line of the error
    * @param operator the one whose results go to the sink, with what it has emitted (ms), if a batch of this run has ended
    */
  final case class Failed(batch: Option[Long], what: String, operator: Option[(Operator, Option[Long])])
      extends Verdict("FAILED", isTrouble = true) {
    def sentence(words: Words): String = {
      val in = batch.fold("")(number => s" in batch $number")
      val rest = (operator, batch) match {
        case (Some((operator, Some(millis))), _) =>
          s" $operator has ${operator.done} up to ${words.at(millis)}, and nothing later was committed."
        case (_, Some(number)) => s" Nothing of batch $number was committed."
        case _ => ""
      }
      s"The query failed$in: ${Words.legible(what, LongestError).stripSuffix(".")}.$rest"
    }
    override def fix(words: Words): Option[String] =
      Some(s"removing that cause and starting the query again${batch.fold("")(n => s", which runs batch $n again")}")
  }

  /** @param beginsWithDue whether a run begins with what is due, also if no row has arrived */
  final case class NoBatchYet(isRestart: Boolean, beginsWithDue: Boolean = false)
      extends Verdict("NO_BATCH_YET", isTrouble = false) {
    def sentence(words: Words): String =
      if (!isRestart) "No batch has ended yet."
      else if (beginsWithDue)
        "No batch has run since the restart. One runs when something is due, or when a row arrives."
      else "No batch has run since the restart. One runs when a row arrives, and not before."
  }

  case object NoOperatorWaits extends Verdict("NO_OPERATOR_WAITS", isTrouble = false) {
    def sentence(words: Words): String =
      "Rows come out in the batch that reads them: no operator waits for a watermark."
  }

  final case class EmitsAll(operator: Operator) extends Verdict("EMITS_ALL", isTrouble = false) {
    def sentence(words: Words): String =
      s"Output mode complete emits all results of $operator in every batch. No row is late there, and no state is evicted."
  }

  final case class AllLate(operator: Operator, origin: Option[OriginName], rows: Long, mostMillis: Long)
      extends Verdict("ALL_LATE", isTrouble = true) {
    override def heldBy: Option[OriginName] = origin
    def sentence(words: Words): String =
      if (rows == 1) s"The only row of the last batch was late at $operator, by ${length(mostMillis)}, and was dropped."
      else
        s"All ${counted(rows, "row")} of the last batch were late at $operator, by up to ${length(mostMillis)}, " +
          "and were dropped."
    override def fix(words: Words): Option[String] =
      Some("using a longer delay, or split_by where some parts of the input are behind the others")
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

  /** @param side of a join whose condition bounds no time; `None` for another operator */
  final case class NeverEvicts(operator: Operator, side: Option[String])
      extends Verdict("NEVER_EVICTS", isTrouble = true) {
    def sentence(words: Words): String = side match {
      case Some(side) =>
        s"$operator keeps the rows of its $side side forever, because its condition does not bound their time."
      case None => s"$operator keeps what it has seen forever, because nothing in its state has an event time."
    }
    override def fix(words: Words): Option[String] =
      Some(
        if (side.nonEmpty) "adding a time range between both event times to the join condition"
        else if (operator.name.startsWith("dropDuplicates"))
          "adding the event time to its keys, or by using dropDuplicatesWithinWatermark"
        else "grouping by the event time, or by a window of it, too")
  }

  /** Rows are lost again and again, though others are not.
    * @param delayMillis the delay of the input with which all of them would have been on time, if the input is known
    * @param isSplit whether that input is split
    */
  final case class SomeLate(
      operator: Operator,
      origin: Option[OriginName],
      late: Long,
      all: Long,
      batches: Int,
      mostMillis: Long,
      delayMillis: Option[Long],
      isSplit: Boolean)
      extends Verdict("SOME_LATE", isTrouble = true) {
    override def heldBy: Option[OriginName] = origin
    def sentence(words: Words): String =
      s"${Words.grouped(late)} of the ${counted(all, "row")} of the last $batches batches were late at $operator, " +
        s"by up to ${length(mostMillis)}, and were dropped."
    override def fix(words: Words): Option[String] = {
      val delay =
        delayMillis.fold("a longer delay")(needed => s"a delay of ${atLeast(needed)}, which would have kept them")
      Some(if (isSplit) s"using $delay" else s"using split_by, if they are of some parts of the input, or $delay")
    }
  }

  /** What moves the watermark of an input: its rows, those of the split that is furthest behind, or marks. */
  sealed trait MovedBy
  object MovedBy {
    case object EventTimes extends MovedBy
    case object Splits extends MovedBy
    case object Writers extends MovedBy
  }

  /** What the next batch does that no batch has done, as all that the last one has not.
    * @param emittedMillis up to where an earlier batch has done it, if one has
    */
  final case class Pending(emittedMillis: Option[Long], next: Situation.NextBatch) {
    private[why] def sentence(operator: Operator, reached: String, words: Words): String = {
      val before = emittedMillis.fold("")(millis => s"$operator has ${operator.done} up to ${words.at(millis)}. ")
      val what =
        if (operator.emitsAtOnce) s"State of $operator is evicted up to $reached"
        else s"What is due at $operator up to $reached is emitted"
      val when = next match {
        case Situation.NextBatch.Soon => "by the next batch"
        case Situation.NextBatch.AtTrigger(every) => s"at the next trigger: there is one every ${length(every)}"
        case Situation.NextBatch.InNextRun => "when the query is started again"
      }
      s"$before$what $when."
    }
  }

  /** @param delayMillis how far the watermark is behind the latest event time of the input, if it is by its delay
    * @param nextMillis the end of the next window, or the watermark that lets the first row go that waits
    * @param held the rows that wait, if rows do
    * @param neededDelayMillis how far an event time of the input has to be beyond a watermark that it moves
    * @param movedBy what moves the watermark of the input
    * @param isOneOfSeveral whether the operator has other inputs too
    * @param waitsForRow whether nothing is emitted up to there before a row arrives
    * @param aheadOfClockMillis how far the watermark of `origin` is ahead of the wall clock, if that is far
    * @param pending what the next batch has to do for it to be true
    */
  final case class Flowing(
      operator: Operator,
      origin: Option[OriginName],
      reachedMillis: Long,
      delayMillis: Option[Long],
      nextMillis: Option[Long],
      held: Option[Situation.Held],
      neededDelayMillis: Option[Long],
      movedBy: MovedBy = MovedBy.EventTimes,
      isOneOfSeveral: Boolean = false,
      waitsForRow: Boolean = false,
      aheadOfClockMillis: Option[Long] = None,
      pending: Option[Pending] = None)
      extends Verdict("FLOWING", isTrouble = false) {
    def sentence(words: Words): String = {
      val behind = for (name <- origin; delay <- delayMillis)
        yield s", ${length(delay)} behind the latest event time of ${words.name(name.toString)}"
      val next = for {
        due <- nextMillis
        delay <- neededDelayMillis
        of = origin.filter(_ => isOneOfSeveral).fold("")(name => s" of ${words.name(name.toString)}")
        others = if (of.isEmpty) "" else ", if no other input is behind then"
        (reaches, alsoReaches) = movedBy match {
          case MovedBy.Writers => (s"${if (of.isEmpty) "its" else "the"} writers$of have noted", "they have noted")
          case MovedBy.Splits => (s"every split$of that is not idle has reached", "each has reached")
          case MovedBy.EventTimes => (s"an event time$of reaches", "one reaches")
        }
        emitted =
          s"is ${if (operator.emitsAtOnce) "evicted" else "emitted"} once $reaches ${words.at(due + delay)}$others"
      } yield held match {
        case None => s" The next window ends at ${words.at(due)}. If it has rows, it $emitted."
        case Some(rows) =>
          val last = if (rows.rows < 2) "" else s", and the last once $alsoReaches ${words.at(rows.lastMillis + delay)}"
          s" It holds ${counted(rows.rows, "row")}: the first $emitted$last."
      }
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
      s"$first$row$ahead${next.getOrElse("")}"
    }
    override def fix(words: Words): Option[String] =
      for (name <- origin if aheadOfClockMillis.nonEmpty)
        yield s"${InputVerdict.takenBack("watermark", words.name(name.toString))}, if the event time there is wrong"
  }
}
