package io.tidemark.core.why

import java.time.ZoneOffset

/** What is wrong, or worth knowing, of a query that has not started: one sentence, and what the user can do.
  *
  * Each case follows from the plan alone. What the engine refuses or hints at by itself is not among them. Most cases are of one
  * operator ([[OperatorTrap]]) or of one input ([[InputTrap]]).
  */
abstract class Trap private[why] (val code: String, val severity: Severity) {
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

  // Of a sentence: it may have expressions of users, of any length.
  private val Longest = 2000

  // No sentence of a plan has a time, so the zone does not matter.
  private[why] val words = new Words(ZoneOffset.UTC)
  private[why] def name(column: String): String = words.name(column)

  /** @param says Spark's own message */
  final case class SparkRefuses(says: String) extends Trap("SPARK_REFUSES", Error) {
    def sentence: String = s"Spark refuses this query: ${says.stripSuffix(".")}."
    def fix: String = "changing what Spark names there, or the output mode"
  }

  final case class LeftToSpark(reason: String) extends Trap("LEFT_TO_SPARK", Warning) {
    def sentence: String = Verdict.LeftToSpark(reason).sentence(words)
    def fix: String = s"running the query without $reason"
  }

  /** @param operators those that wait for this input and another one
    * @param part a split or a writer, if one part of the input is enough
    * @param onlyState whether their results do not wait, as those of an inner join
    * @param atJoin whether a join is among them that waits for the input even while it is idle
    * @param countsSilence whether the time of a run may make an input idle
    */
  final case class NoIdleTime(
      input: String,
      operators: Seq[String],
      part: Option[String],
      onlyState: Boolean,
      atJoin: Boolean,
      countsSilence: Boolean = true)
      extends Trap("NO_IDLE_TIME", Info) {
    override def operator: Option[String] = operators.headOption
    def sentence: String = {
      val what = if (onlyState) s"keep ${if (operators.size == 1) "its" else "their"} state until it has rows again"
      else "wait for it forever"
      s"If ${part.fold("")(kind => s"a $kind of ")}${name(input)} falls silent, ${operators.mkString(", ")} will $what."
    }
    def fix: String = {
      // A join goes on without a part that is idle, if another one is not.
      val followsInJoins = atJoin && part.isEmpty
      val set = IdleAdvice.settingIdle(name(input), followsInJoins, countsSilence = countsSilence)
      val cost = if (followsInJoins) s" and ${IdleAdvice.RowsMayBeLate}" else ""
      s"$set, if ${part.fold("it")(kind => s"a $kind")} may be silent$cost"
    }
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
}
