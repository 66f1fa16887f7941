package io.tidemark.core.why

import io.tidemark.core.OriginName

/** What is wrong, or worth knowing, of one operator of a plan.
  * @see [[Trap]]
  */
sealed abstract class OperatorTrap(code: String, severity: Severity) extends Trap(code, severity) {

  /** The operator, in words. */
  def of: String
  override def operator: Option[String] = Some(of)
}

object OperatorTrap {
  import Severity.{Error, Info, Warning}
  import Trap.{name, words}

  // What becomes of groups that no watermark closes.
  private def unclosed(isAppend: Boolean): String =
    if (isAppend) "In append mode Spark refuses that." else "Every group is kept forever."

  /** An aggregation in append mode with no watermark below it. */
  final case class NoEventTimeAppend(of: String) extends OperatorTrap("NO_EVENT_TIME_APPEND", Error) {
    def sentence: String =
      s"The $of is in append mode, and no watermark is below it, so no row of it would ever be final."
    def fix: String = "putting a watermark on the time column before the aggregation, or by output mode update"
  }

  /** An aggregation that groups by no event time, above a watermark. */
  final case class GroupsByNoEventTime(of: String, time: String, isAppend: Boolean)
      extends OperatorTrap("GROUPS_BY_NO_EVENT_TIME", if (isAppend) Error else Info) {
    override def column: Option[String] = Some(time)
    def sentence: String =
      s"The $of groups by no event time, so the watermark on ${name(time)} closes no group. " +
        (if (isAppend) "In append mode Spark refuses that, as an aggregation without watermark."
         else "Every group is kept forever.")
    def fix: String = s"adding a window of ${name(time)}, or that column, to what it groups by"
  }

  /** A grouping key that is computed from event time, and is none itself.
    * @param key the column, and `expression` what it is made by
    * @param mayBeMarked whether a watermark may be set on it: it has to be a timestamp
    */
  final case class MarkLost(
      of: String,
      key: String,
      expression: String,
      time: String,
      isAppend: Boolean,
      mayBeMarked: Boolean = true)
      extends OperatorTrap("MARK_LOST", if (isAppend) Error else Warning) {
    override def column: Option[String] = Some(time)
    def sentence: String =
      s"The watermark on ${name(time)} ends where ${name(key)} is made by ${name(expression)}: the $of groups by a column " +
        s"without one. ${unclosed(isAppend)}"
    def fix: String =
      s"grouping by a window of ${name(
          time)} instead${if (mayBeMarked) ", or by putting the watermark on the new column" else ""}"
  }

  /** A window of the start or the end of another one. */
  final case class WindowOfWindowEnd(of: String, expression: String, window: String, isAppend: Boolean)
      extends OperatorTrap("MARK_LOST", if (isAppend) Error else Warning) {
    override def column: Option[String] = Some(window)
    def sentence: String =
      s"The $of makes windows of $expression, which is not event time, though ${name(window)} is. ${unclosed(isAppend)}"
    def fix: String = s"making them of window_time(\"$window\")"
  }

  /** A grouping key that is taken from a DataFrame on which the watermark is not set yet. */
  final case class MarkOfOtherFrame(of: String, time: String, isAppend: Boolean)
      extends OperatorTrap("MARK_OF_OTHER_FRAME", if (isAppend) Error else Warning) {
    override def column: Option[String] = Some(time)
    def sentence: String =
      s"The $of takes ${name(time)} from the DataFrame as it was before its watermark was set, so it has none. " +
        unclosed(isAppend)
    def fix: String = s"naming the column by itself, as in F.col(\"$time\")"
  }

  final case class DedupForever(of: String) extends OperatorTrap("DEDUP_FOREVER", Warning) {
    def sentence: String = s"The $of has no event time among its columns, so it remembers every key forever."
    def fix: String = "calling dropDuplicatesWithinWatermark, or by adding the event time, if copies have the same one"
  }

  final case class DedupEqualTimes(of: String, time: String) extends OperatorTrap("DEDUP_EQUAL_TIMES", Info) {
    override def column: Option[String] = Some(time)
    def sentence: String = s"The $of takes two rows of one key for different rows if their ${name(time)} differs."
    def fix: String = "calling dropDuplicatesWithinWatermark, if copies of a row may have another time"
  }

  final case class NeverEvicts(of: String, side: String) extends OperatorTrap("NEVER_EVICTS", Warning) {
    private val seen = Verdict.NeverEvicts(Verdict.Operator(of), Some(side))
    def sentence: String = s"The ${seen.sentence(words)}"
    def fix: String = seen.fix(words).getOrElse("")
  }

  final case class OuterJoinNoBound(of: String) extends OperatorTrap("OUTER_JOIN_NO_BOUND", Error) {
    def sentence: String =
      s"The $of has no watermark with a time range that says when a row can no longer match, so Spark refuses it."
    def fix: String = "putting watermarks on both inputs, and a time range between them into the condition"
  }

  /** @param rows the side whose rows come out without a match
    * @param inputs those that they wait for
    * @param hasIdleTime whether each of the inputs may become idle
    */
  final case class OuterRowsWait(
      of: String,
      rows: String,
      inputs: Seq[String],
      hasIdleTime: Boolean,
      countsSilence: Boolean = true)
      extends OperatorTrap("OUTER_ROWS_WAIT", Info) {
    private val others = inputs.map(name).mkString(" and ")
    def sentence: String =
      s"A row of the $rows side without a match comes out of the $of only when the watermark of $others has passed it."
    def fix: String = {
      val set = if (hasIdleTime) s"setting at_join=\"follow\" on $others"
      else IdleAdvice.settingIdle(others, atJoin = true, countsSilence = countsSilence)
      s"$set, if such rows must not wait for a silent input"
    }
  }

  final case class StateTimeoutNoWatermark(of: String) extends OperatorTrap("STATE_TIMEOUT_NO_WATERMARK", Error) {
    def sentence: String = s"The $of has event-time timeouts, and no watermark is below it, so Spark refuses it."
    def fix: String = "putting a watermark on its input"
  }

  final case class UpdateChain(of: String) extends OperatorTrap("UPDATE_CHAIN", Error) {
    def sentence: String = s"The $of reads another operator with state, which Spark allows in append mode only."
    def fix: String = "writing in append mode"
  }

  final case class NoDataBatchesOff(of: String) extends OperatorTrap("NO_DATA_BATCHES_OFF", Warning) {
    private val seen = Verdict.NoDataBatchesOff(Verdict.Operator(of), 0L, None)
    def sentence: String = s"What the $of has completed waits for the next row: no-data batches are off."
    def fix: String = seen.fix(words).getOrElse("")
  }

  final case class JoinWaitsForIdle(input: String, of: String, idleAfterMillis: Long)
      extends OperatorTrap("JOIN_WAITS_FOR_IDLE", Info) {
    private val seen =
      InputVerdict.JoinWaitsForIdle(Verdict.Operator(of), of, OriginName(input, 0), None, Some(idleAfterMillis))
    def sentence: String = s"${name(input)} may become idle, but the $of waits for it all the same."
    def fix: String = seen.fix(words).getOrElse("")
  }

  /** @param countsSilence whether the time of a run may make an input idle */
  final case class LastWindowStays(of: String, countsSilence: Boolean = true)
      extends OperatorTrap("LAST_WINDOW_STAYS", Info) {
    def sentence: String =
      s"The last windows of the $of come out only when rows with a later time arrive: a watermark stands still without rows."
    def fix: String =
      IdleAdvice.settingExample("when_all=\"advance\"", "the inputs", countsSilence) +
        ", if they must come out while all are silent"
  }
}
