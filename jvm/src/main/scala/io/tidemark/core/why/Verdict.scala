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
  import Words.counted

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
}
