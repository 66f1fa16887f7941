package io.tidemark

import org.apache.spark.sql.Column

/** The options of a watermark. Any option that is left out follows the session's `spark.tidemark.*` settings.
  *
  * Lengths of time are text that Spark reads as an interval, such as `1 minute`; a month has 31 days. They are a
  * millisecond or more. `none` switches the session's setting off.
  *
  * @param key the name of this watermark in reports and in the checkpoint. By default it is the column's name
  * @param splitBy the parts of the input that have their own clocks
  * @param idle when the input or a split is idle, and what happens then
  * @param maxAhead how far an event time, or a noted time, may be ahead of processing time and still advance the
  *   watermark. A noted time has a limit of a day by default
  * @param noted the mark log of the writers, if the watermark goes by what they note. The splits are the writers then, and
  *   a delay is only needed for `dropDuplicatesWithinWatermark`
  */
final case class WatermarkOptions(
    key: Option[String] = None,
    splitBy: SplitBy = SplitBy(),
    idle: Idle = Idle(),
    maxAhead: Option[String] = None,
    noted: Option[Noted] = None)

/** A log of marks, in which writers note how far they are.
  *
  * @param location the log's folder. By default it is `_tidemark` in the path that is read
  * @param expected writers that hold the watermark back until they have noted a time or are idle
  * @param onlyExpected whether marks of other writers are ignored
  */
final case class Noted(location: Option[String] = None, expected: Seq[String] = Nil, onlyExpected: Boolean = false)

object Noted {
  def apply(location: String): Noted = new Noted(Some(location))
}

/** The splits of an input: parts with their own clocks, such as partitions or devices.
  *
  * @param by expressions that decide which split a row belongs to. Without any, the input is one split
  * @param expected splits that hold the watermark back until they have a row or are idle. Each has the value of every
  *   expression, as Spark casts it to text (timestamps in UTC), with `None` for null
  */
final case class SplitBy(by: Seq[Column] = Nil, expected: Seq[Seq[Option[String]]] = Nil)

object SplitBy {
  def apply(first: Column, others: Column*): SplitBy = new SplitBy(first +: others)
}

/** When an input, or a split of it, is idle, and what its watermark does then.
  *
  * @param after how long a split may have no rows while others have some, and an input none at all
  * @param onReturn `hold` or `catch_up`: what happens when an idle split has rows again and is behind the watermark
  * @param whenAll `hold`, `rise` or `advance`: what happens when the whole input has no rows
  * @param atJoin `hold` or `follow`: what a stream-stream join does while this input is idle
  */
final case class Idle(
    after: Option[String] = None,
    onReturn: Option[String] = None,
    whenAll: Option[String] = None,
    atJoin: Option[String] = None)

object Idle {
  def apply(after: String): Idle = new Idle(Some(after))
}

/** How a query notes the time of its output.
  *
  * @param to the folder of the mark log. By default it is `_tidemark` in the path that is written
  * @param writer the name of the query among the writers of the log. By default it is the query's id. A new checkpoint with
  *   the same name takes the place of the old one
  * @param less how much earlier than the watermark the noted time is: the length of a window, if readers go by its start
  * @param position where the rows go, for `foreachBatch` and other sinks that do not tell: `kafka:topic,topic` or
  *   `delta:/path`
  * @param positionOptions options for asking for that position, such as `kafka.bootstrap.servers`
  * @param failsQuery whether a mark that cannot be written fails the query. By default the query goes on, and readers wait
  */
final case class NoteTimeOptions(
    to: Option[String] = None,
    writer: Option[String] = None,
    less: Option[String] = None,
    position: Option[String] = None,
    positionOptions: Map[String, String] = Map.empty,
    failsQuery: Boolean = false)

object NoteTimeOptions {
  def apply(to: String): NoteTimeOptions = new NoteTimeOptions(Some(to))
}
