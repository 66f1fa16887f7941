package io.tidemark.core.why

/** What is wrong, or worth knowing, of one input with a watermark.
  * @see [[Trap]]
  */
sealed abstract class InputTrap(code: String, severity: Severity) extends Trap(code, severity) {

  /** The key of the watermark. */
  def input: String
  override def column: Option[String] = Some(input)
}

object InputTrap {
  import Severity.Info
  import Trap.name

  final case class AvailableNowNeverListens(input: String) extends InputTrap("AVAILABLE_NOW_NEVER_LISTENS", Info) {
    def sentence: String =
      s"A run with Trigger.AvailableNow ends with its input, so ${name(input)} hardly ever becomes idle: the time between two " +
        "runs does not count."
    def fix: String = IdleAdvice.CountDowntime
  }

  final case class DelayZero(input: String) extends InputTrap("DELAY_ZERO", Info) {
    def sentence: String =
      s"The delay of ${name(input)} is zero, so rows with the newest time are late if they come a batch later."
    def fix: String = "a delay of 1 millisecond or more, unless no two batches have rows of the same time"
  }

  final case class FarFuture(input: String) extends InputTrap("FAR_FUTURE", Info) {
    def sentence: String =
      s"${name(input)} believes any time: one row that is dated years ahead makes all rows after it late."
    def fix: String = s"setting max_ahead on ${name(input)}, such as max_ahead=\"1 day\", if its times are clock times"
  }

  final case class WatermarkAfter(input: String, of: String) extends InputTrap("WATERMARK_AFTER", Info) {
    override def operator: Option[String] = Some(of)
    def sentence: String =
      s"The watermark of ${name(input)} is set above the $of. Stock Spark refuses that, or emits nothing for it."
    def fix: String = "setting it below that operator, if the query has to run without Tidemark too"
  }

  final case class KafkaOneClock(input: String) extends InputTrap("KAFKA_ONE_CLOCK", Info) {
    def sentence: String =
      s"${name(input)} reads Kafka with one clock for all partitions: on a replay, the partition that is ahead makes the " +
        "rows of the others late."
    def fix: String =
      """setting split_by=["topic", "partition"] and an idle_after on it, if the topic has several partitions"""
  }

  final case class EventTimeIsNow(input: String, expression: String) extends InputTrap("EVENT_TIME_IS_NOW", Info) {
    def sentence: String =
      s"The event time of ${name(input)} is the time of reading, ${name(expression)}: nothing is ever late, and a replay falls " +
        "into today's windows."
    def fix: String = "using the time that the row itself has"
  }

  final case class EventTimeMayBeNull(input: String, expression: String)
      extends InputTrap("EVENT_TIME_MAY_BE_NULL", Info) {
    def sentence: String =
      s"The event time of ${name(input)} is read from text by ${name(expression)}: a row whose text is not a time has none. It " +
        "advances no clock and is in no window."
    def fix: String = "counting such rows before the watermark, and checking the format"
  }

  final case class NotedWindowEnd(input: String, expression: String) extends InputTrap("NOTED_WINDOW_END", Info) {
    def sentence: String =
      s"The event time of ${name(input)} is the end of a window, ${name(expression)}, which lies in the next window: of windows by " +
        "the hour, the one from 2 to 3 is counted from 3 on."
    def fix: String = "subtracting a microsecond, as window_time does, if windows of it are formed"
  }

  final case class WatermarkUnused(input: String) extends InputTrap("WATERMARK_UNUSED", Info) {
    def sentence: String = s"No operator uses the watermark of ${name(input)}: it drops no row and evicts no state."
    def fix: String = "removing it, or by using its column in an operator with state"
  }
}
