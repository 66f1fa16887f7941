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
  * @param noted the mark log of the writers, if the watermark follows what they note. The splits are the writers then, and
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
  * @param location the log's folder. By default it is `_tidemark` in the path that is read. Or `kafka:<topic>/<stream>`
  * @param expected writers that hold the watermark back until they have noted a time or are idle
  * @param onlyExpected whether marks of other writers are ignored
  * @param options for a topic: `kafka.*` options of Spark's Kafka source. By default, and where it names none, they are
  *   those of the input
  */
final case class Noted(
    location: Option[String] = None,
    expected: Seq[String] = Nil,
    onlyExpected: Boolean = false,
    options: Map[String, String] = Map.empty)

object Noted {
  def apply(location: String): Noted = new Noted(Some(location))
}

/** The splits of an input: parts with their own clocks, such as partitions or devices.
  *
  * @param by expressions that decide which split a row belongs to. Without any, the input is one split
  * @param expected splits that hold the watermark back until they have a row or are idle. Each has the value of every
  *   expression, as Spark casts it to text (timestamps in UTC), with `None` for null
  * @param forgetAfter how long a split may have no rows while others have some before it is forgotten. It needs
  *   `Idle.after`, and is no shorter. Expected splits and Kafka's partitions are never forgotten
  */
final case class SplitBy(
    by: Seq[Column] = Nil,
    expected: Seq[Seq[Option[String]]] = Nil,
    forgetAfter: Option[String] = None)

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
  * @param to the location of the mark log: a folder, or `kafka:topic/stream`. By default it is the folder `_tidemark` in the
  *   path that is written, or in the folder of `position`
  * @param writer the name of the query among the writers of the log. By default it is its `queryName`, and without
  *   one its id. A new checkpoint with the same name takes the place of the old one
  * @param less how much earlier than the watermark the noted time is: the length of a window, if readers use its start
  * @param position where the rows go, for `foreachBatch` and other sinks that do not say it: `kafka:topic,topic` or
  *   `delta:/path`, or `files:/path` for the files in a folder
  * @param positionOptions options for asking for that position, such as `kafka.bootstrap.servers`
  * @param failsQuery whether a mark that cannot be written fails the query. By default the query continues, and readers wait
  * @param toOptions options of Spark's Kafka source and sink for a log in Kafka, such as `kafka.bootstrap.servers`. What is
  *   left out is as for the sink, and for its position
  */
final case class NoteTimeOptions(
    to: Option[String] = None,
    writer: Option[String] = None,
    less: Option[String] = None,
    position: Option[String] = None,
    positionOptions: Map[String, String] = Map.empty,
    failsQuery: Boolean = false,
    toOptions: Map[String, String] = Map.empty)

object NoteTimeOptions {
  def apply(to: String): NoteTimeOptions = new NoteTimeOptions(Some(to))
}

/** In which order rows are emitted.
  *
  * @param by expressions: rows with the same values lie together in one partition. Without any, all rows are one group
  * @param thenBy expressions that decide between rows of the same time, ascending
  * @param waits whether rows are held until the watermark has passed them. If not, each batch is ordered by itself, and
  *   no row is held or late
  * @param dropsLate whether late rows are dropped. If not, they are emitted immediately, before their group's other rows
  */
final case class OrderOptions(
    by: Seq[Column] = Nil,
    thenBy: Seq[Column] = Nil,
    waits: Boolean = true,
    dropsLate: Boolean = true)

/** How `mapAsync` makes its calls. Lengths of time are text that Spark reads as an interval, such as `2 seconds`.
  *
  * @param concurrency how many calls one task has in flight
  * @param timeout how long a call may take. Its row is given up then, and its slot is free when its `Future` has ended.
  *   `none`: there is no limit
  * @param retries how often a call is made again after an error or a time-out
  * @param backoff how long a row waits before its first retry; twice as long before each further one. `none`: not at all
  * @param failsQuery whether a row whose last call fails ends the query. If not, its result is null
  * @param key of rows with an equal value, at most one call is in flight, in the order of the rows. These rows have to be in
  *   one task, as they are above `inOrder` by the key or `repartition(key)`
  * @param ordered whether rows keep their order. If not, a row is emitted as soon as its call has ended
  * @param skipsNulls whether rows whose inputs are all null get a null without a call
  */
final case class AsyncOptions(
    concurrency: Int = 64,
    timeout: String = "1 minute",
    retries: Int = 0,
    backoff: String = "200 milliseconds",
    failsQuery: Boolean = true,
    key: Option[Column] = None,
    ordered: Boolean = true,
    skipsNulls: Boolean = false)
