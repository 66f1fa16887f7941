package io.tidemark.core.why

import java.time.ZoneOffset

import io.tidemark.core.OriginName

/** What is wrong, or worth knowing, of a query that has not started: one sentence, and what the user can do.
  *
  * Each case follows from the plan alone. What the engine refuses or notes by itself is not among them.
  */
sealed abstract class Trap(val code: String, val severity: Severity) {
  def sentence: String

  /** What follows "Fix this by". */
  def fix: String
  def column: Option[String] = None
  def operator: Option[String] = None

  def finding: Finding =
    Finding(code, severity, Words.legible(sentence, Trap.Longest), Words.legible(fix, Trap.Longest), column, operator)
}

object Trap {
  import Severity.{Error, Info, Warning}

  // Of a sentence: expressions of users stand in it, which may have any length.
  private val Longest = 2000

  // No sentence of a plan has a time, so the zone does not matter.
  private val words = new Words(ZoneOffset.UTC)
  private def name(column: String): String = words.name(column)

  /** An aggregation in append mode with no watermark below it. */
  final case class NoEventTimeAppend(of: String) extends Trap("NO_EVENT_TIME_APPEND", Error) {
    override def operator: Option[String] = Some(of)
    def sentence: String =
      s"The $of is in append mode, and no watermark is below it, so no row of it would ever be final."
    def fix: String = "putting a watermark on the time column before the aggregation, or by output mode update"
  }

  /** An aggregation that groups by no event time, above a watermark. */
  final case class GroupsByNoEventTime(of: String, time: String, isAppend: Boolean)
      extends Trap("GROUPS_BY_NO_EVENT_TIME", if (isAppend) Error else Info) {
    override def operator: Option[String] = Some(of)
    override def column: Option[String] = Some(time)
    def sentence: String =
      s"The $of groups by no event time, so the watermark on ${name(time)} closes no group. " +
        (if (isAppend) "In append mode Spark refuses that, as an aggregation without watermark."
         else "Every group is kept for ever.")
    def fix: String = s"adding a window of ${name(time)}, or that column, to what it groups by"
  }

  /** A grouping key that is computed from event time, and is none itself. */
  final case class MarkLost(of: String, key: String, made: String, time: String, isAppend: Boolean)
      extends Trap("MARK_LOST", if (isAppend) Error else Warning) {
    override def operator: Option[String] = Some(of)
    override def column: Option[String] = Some(time)
    def sentence: String =
      s"The watermark on ${name(time)} ends where ${name(key)} is made by ${name(made)}: the $of groups by a column " +
        s"without one. ${if (isAppend) "In append mode Spark refuses that." else "Every group is kept for ever."}"
    def fix: String =
      s"grouping by a window of ${name(time)} instead, or by putting the watermark on the new column"
  }

  /** A grouping key that is taken from a DataFrame on which the watermark is not set yet. */
  final case class MarkOfOtherFrame(of: String, time: String, isAppend: Boolean)
      extends Trap("MARK_OF_OTHER_FRAME", if (isAppend) Error else Warning) {
    override def operator: Option[String] = Some(of)
    override def column: Option[String] = Some(time)
    def sentence: String =
      s"The $of takes ${name(time)} from the DataFrame as it was before its watermark was set, so it has none. " +
        (if (isAppend) "In append mode Spark refuses that." else "Every group is kept for ever.")
    def fix: String = s"naming the column by itself, as in F.col(\"$time\")"
  }

  final case class DedupForEver(of: String) extends Trap("DEDUP_FOR_EVER", Warning) {
    override def operator: Option[String] = Some(of)
    def sentence: String = s"The $of has no event time among its columns, so it remembers every key for ever."
    def fix: String = "calling dropDuplicatesWithinWatermark, or by adding the event time, if copies have the same one"
  }

  final case class DedupEqualTimes(of: String, time: String) extends Trap("DEDUP_EQUAL_TIMES", Info) {
    override def operator: Option[String] = Some(of)
    override def column: Option[String] = Some(time)
    def sentence: String = s"The $of takes two rows of one key for different rows if their ${name(time)} differs."
    def fix: String = "calling dropDuplicatesWithinWatermark, if copies of a row may have another time"
  }

  final case class NeverEvicts(of: String, side: String) extends Trap("NEVER_EVICTS", Warning) {
    private val seen = Verdict.NeverEvicts(Verdict.Operator(of), side)
    override def operator: Option[String] = Some(of)
    def sentence: String = s"The ${seen.sentence(words)}"
    def fix: String = seen.fix(words).getOrElse("")
  }

  final case class OuterJoinNoBound(of: String) extends Trap("OUTER_JOIN_NO_BOUND", Error) {
    override def operator: Option[String] = Some(of)
    def sentence: String =
      s"The $of has no watermark with a time range that says when a row can no longer match, so Spark refuses it."
    def fix: String = "putting watermarks on both inputs, and a time range between them into the condition"
  }

  /** @param rows the side whose rows come out without a match
    * @param inputs those that they wait for
    */
  final case class OuterRowsWait(of: String, rows: String, inputs: Seq[String]) extends Trap("OUTER_ROWS_WAIT", Info) {
    private val others = inputs.map(name).mkString(" and ")
    override def operator: Option[String] = Some(of)
    def sentence: String =
      s"A row of the $rows side without a match comes out of the $of only when the watermark of $others has passed it."
    def fix: String =
      s"setting idle_after on $others with at_join=\"follow\", if such rows must not wait for a silent input"
  }

  final case class StateTimeoutNoWatermark(of: String) extends Trap("STATE_TIMEOUT_NO_WATERMARK", Error) {
    override def operator: Option[String] = Some(of)
    def sentence: String = s"The $of has event-time timeouts, and no watermark is below it, so Spark refuses it."
    def fix: String = "putting a watermark on its input"
  }

  final case class UpdateChain(of: String) extends Trap("UPDATE_CHAIN", Error) {
    override def operator: Option[String] = Some(of)
    def sentence: String = s"The $of reads another operator with state, which Spark allows in append mode only."
    def fix: String = "writing in append mode"
  }

  /** @param says Spark's own message */
  final case class SparkRefuses(says: String) extends Trap("SPARK_REFUSES", Error) {
    def sentence: String = s"Spark refuses this query: ${says.stripSuffix(".")}."
    def fix: String = "changing what Spark names there, or the output mode"
  }

  final case class LeftToSpark(reason: String) extends Trap("LEFT_TO_SPARK", Warning) {
    def sentence: String = Verdict.LeftToSpark(reason).sentence(words)
    def fix: String = s"running the query without $reason"
  }

  final case class NoDataBatchesOff(of: String) extends Trap("NO_DATA_BATCHES_OFF", Warning) {
    private val seen = Verdict.NoDataBatchesOff(Verdict.Operator(of), 0L, None)
    override def operator: Option[String] = Some(of)
    def sentence: String = s"What the $of has completed waits for the next row: no-data batches are off."
    def fix: String = seen.fix(words).getOrElse("")
  }

  /** @param operators those that wait for this input and another one
    * @param hasSplits whether a part of the input is enough
    * @param onlyState whether their results do not wait, as those of an inner join
    */
  final case class NoIdleTime(input: String, operators: Seq[String], hasSplits: Boolean, onlyState: Boolean)
      extends Trap("NO_IDLE_TIME", Info) {
    override def operator: Option[String] = operators.headOption
    def sentence: String = {
      val what = if (onlyState) "keep their state until it goes on" else "wait for it for ever"
      s"If ${if (hasSplits) "a split of " else ""}${name(input)} falls silent, ${operators.mkString(", ")} will $what."
    }
    def fix: String = s"setting idle_after on ${name(input)}, if it may be silent"
  }

  final case class JoinWaitsForIdle(input: String, of: String) extends Trap("JOIN_WAITS_FOR_IDLE", Info) {
    private val seen = Verdict.JoinWaitsForIdle(Verdict.Operator(of), OriginName(input, 0), None)
    override def operator: Option[String] = Some(of)
    def sentence: String = s"${name(input)} may fall idle, but the $of waits for it all the same."
    def fix: String = seen.fix(words).getOrElse("")
  }

  final case class AvailableNowNeverListens(input: String) extends Trap("AVAILABLE_NOW_NEVER_LISTENS", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"A run with Trigger.AvailableNow ends with its input, so ${name(input)} hardly ever falls idle: the time between two " +
        "runs does not count."
    def fix: String =
      "setting spark.tidemark.downtimeIsSilence to true, if a source without rows was silent between the runs"
  }

  final case class DelayZero(input: String) extends Trap("DELAY_ZERO", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"The delay of ${name(input)} is zero, so rows with the newest time are late if they come a batch later."
    def fix: String = "a delay of 1 millisecond or more, unless no two batches have rows of the same time"
  }

  final case class FarFuture(input: String) extends Trap("FAR_FUTURE", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"${name(input)} believes any time: one row that is dated years ahead makes all rows after it late."
    def fix: String = s"setting max_ahead on ${name(input)}, such as max_ahead=\"1 day\", if its times are clock times"
  }

  final case class LastWindowStays(of: String) extends Trap("LAST_WINDOW_STAYS", Info) {
    override def operator: Option[String] = Some(of)
    def sentence: String =
      s"The last windows of the $of come out only when rows with a later time arrive: a watermark stands still without rows."
    def fix: String =
      "setting idle=tidemark.Idle(after=..., when_all=\"advance\"), if they must come out while all inputs are silent"
  }

  final case class WatermarkAfter(input: String, of: String) extends Trap("WATERMARK_AFTER", Info) {
    override def column: Option[String] = Some(input)
    override def operator: Option[String] = Some(of)
    def sentence: String =
      s"The watermark of ${name(input)} is set above the $of. Stock Spark refuses that, or emits nothing for it."
    def fix: String = "setting it below that operator, if the query has to run without Tidemark too"
  }

  final case class KafkaOneClock(input: String) extends Trap("KAFKA_ONE_CLOCK", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"${name(input)} reads Kafka with one clock for all partitions: on a replay, the partition that is ahead makes the " +
        "rows of the others late."
    def fix: String =
      """setting split_by=["topic", "partition"] and an idle_after on it, if the topic has several partitions"""
  }

  final case class EventTimeIsNow(input: String, made: String) extends Trap("EVENT_TIME_IS_NOW", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"The event time of ${name(input)} is the time of reading, ${name(made)}: nothing is ever late, and a replay falls " +
        "into today's windows."
    def fix: String = "using the time that the row itself has"
  }

  final case class EventTimeMayBeNull(input: String, made: String) extends Trap("EVENT_TIME_MAY_BE_NULL", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"The event time of ${name(input)} is read from text by ${name(made)}: a row whose text is no time has none. It " +
        "advances no clock and is in no window."
    def fix: String = "counting such rows before the watermark, and checking the format"
  }

  final case class NotedWindowEnd(input: String, made: String) extends Trap("NOTED_WINDOW_END", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String =
      s"The event time of ${name(input)} is the end of a window, ${name(made)}, which lies in the next window: of windows by " +
        "the hour, the one from 2 to 3 is counted from 3 on."
    def fix: String = "subtracting a microsecond, as window_time does, if windows of it are formed"
  }

  /** A query that notes the time of its output writes windows, and no event time but their end. */
  final case class NotedOutputEnd(output: String, window: String) extends Trap("NOTED_OUTPUT_END", Warning) {
    override def column: Option[String] = Some(output)
    def sentence: String =
      s"The output has no time in its windows but their end, ${name(output)}, which lies in the next window: of windows by " +
        "the hour, a reader that forms windows of it counts the one from 2 to 3 from 3 on."
    def fix: String =
      s"""writing window_time("$window") as well, a microsecond earlier, for such a reader"""
  }

  final case class WatermarkUnused(input: String) extends Trap("WATERMARK_UNUSED", Info) {
    override def column: Option[String] = Some(input)
    def sentence: String = s"No operator uses the watermark of ${name(input)}: it drops no row and evicts no state."
    def fix: String = "removing it, or by using its column in an operator with state"
  }
}
