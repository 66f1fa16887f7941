package io.tidemark

import java.util.{LinkedHashMap => Fields}

import scala.concurrent.Future
import scala.jdk.CollectionConverters._

import io.tidemark.core.calls.CallIds

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.functions.{call_function, col, lit}
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.functions.MakeAsyncMap
import org.apache.spark.sql.types.DataType

/** Tidemark for Scala users: the same as `tidemark.with_watermark` and its companions in Python. */
object functions {
  private val mapper = new ObjectMapper

  /** Declares a column as event time with its own watermark: `df.withWatermark`, with more options.
    *
    * {{{
    * withWatermark(orders, "time", "10 minutes", WatermarkOptions(
    *   key = Some("orders"), splitBy = SplitBy($"topic", $"partition"), idle = Idle("1 minute")))
    * }}}
    *
    * @param column the exact name of a top-level column, which may contain dots and blanks
    * @param delay how late rows may arrive, as Spark's interval text
    * @throws TidemarkException `INVALID_OPTION`, `INVALID_SPLITS`. In a session without the Tidemark extension, Spark says
    *   that there is no function `tidemark_event_time`
    */
  def withWatermark(
      df: DataFrame,
      column: String,
      delay: String,
      options: WatermarkOptions = WatermarkOptions()): DataFrame = {
    val time = "`" + column.replace("`", "``") + "`"
    val arguments = Seq(col(time), lit(mapper.writeValueAsString(fields(options)))) ++ options.splitBy.by
    df.withColumn(column, call_function("tidemark_event_time", arguments: _*)).withWatermark(time, delay)
  }

  /** The watermark of the only event-time column at this place in the query, by which rows are late in this batch. It is
    * null before the first watermark, and in batch queries.
    *
    * @throws TidemarkException `NO_WATERMARK` if there is none or several, here or when the query's first batch is planned.
    *   `LEFT_TO_SPARK` in a query that is left to stock Spark
    */
  def currentWatermark(): Column = call_function("current_watermark")

  /** The same for an event-time column or a window. */
  def currentWatermark(column: Column): Column = call_function("current_watermark", column)

  /** The same for the input whose watermark has that key, anywhere in the query. */
  def currentWatermark(key: String): Column = call_function("current_watermark", lit(key))

  /** Whether a row is late by that event-time column at this place in the query: at or before [[currentWatermark]]. A null
    * time is never late, and no row of a batch query is. Ask for the column that the next operator uses: before an
    * aggregation by windows that is the window.
    *
    * @throws TidemarkException as for [[currentWatermark]]
    */
  def isLate(column: Column): Column = call_function("is_late", column)

  /** Between which times the rows of a batch are, as their writers have noted it: a struct of `lower` and `upper`. The
    * first is the watermark of the batch at this place, and the second the next time that all writers have noted ahead.
    * See `docs/noted-time/readers.md` for when they are null.
    *
    * @throws TidemarkException as for [[currentWatermark]]
    */
  def timeWindow(column: Column): Column = call_function("tidemark_time_window", column)

  /** The same for the input whose watermark has that key, anywhere in the query. */
  def timeWindow(key: String): Column = call_function("tidemark_time_window", lit(key))

  /** Notes how far the output of a streaming query is: the watermark of a column, as marks in a log that other queries use.
    *
    * {{{
    * noteTime(hourly, "window").writeStream.format("parquet").start("/lake/hourly")
    * }}}
    *
    * @param column the exact name of a top-level column: event time, or a window of it
    * @throws TidemarkException `NOTE_TIME_NOT_EVENT_TIME`, `INVALID_NOTE_TIME`. When the query is planned:
    *   `NOTE_TIME_DROPPED`, `NOTE_TIME_COMPLETE_MODE`, `NOTE_TIME_SINK_UNKNOWN`
    */
  def noteTime(df: DataFrame, column: String, options: NoteTimeOptions = NoteTimeOptions()): DataFrame = {
    val all = new Fields[String, Any]
    def put(name: String, value: Option[Any]): Unit = value.foreach(all.put(name, _))
    put("to", Some(options.to.getOrElse(true)))
    put("toOptions", Option.when(options.toOptions.nonEmpty)(options.toOptions.asJava))
    put("writer", options.writer)
    put("less", options.less)
    put("position", options.position)
    put("options", Option.when(options.positionOptions.nonEmpty)(options.positionOptions.asJava))
    put("failure", Option.when(options.failsQuery)("fail"))
    val time = col("`" + column.replace("`", "``") + "`")
    df.withColumn(column, call_function("tidemark_note_time", time, lit(mapper.writeValueAsString(all))))
  }

  /** The rows of a stream by their event time: held until the watermark has passed them, then emitted in order, each group of
    * equal `by` values together. A batch DataFrame is sorted.
    *
    * {{{
    * inOrder(readings, "time", OrderOptions(by = Seq($"device"), thenBy = Seq($"offset")))
    * }}}
    *
    * @param time the exact name of a top-level column: event time with a watermark, or a window of it. If rows do not
    *   wait, any column that can be ordered
    * @return the same columns. Rows of the same time come in any order, unless `thenBy` decides
    * @throws TidemarkException `ORDER_NOT_EVENT_TIME`, `INVALID_ORDER`. When the query is planned: `ORDER_OF_UPDATES`,
    *   `LEFT_TO_SPARK`. While it runs: `ORDER_STATE_CHANGED`
    */
  def inOrder(df: DataFrame, time: String, options: OrderOptions = OrderOptions()): DataFrame = {
    val all = new Fields[String, Any]
    all.put("then", options.thenBy.size)
    all.put("wait", options.waits)
    all.put("late", if (options.dropsLate) "drop" else "pass")
    val column = col("`" + time.replace("`", "``") + "`")
    val arguments = Seq(column, lit(mapper.writeValueAsString(all))) ++ options.by ++ options.thenBy
    val ordered = df.where(call_function("tidemark_in_order", arguments: _*))
    // Spark has added it as a column, and has left out rows that are in no window.
    if (ordered.columns.length != df.columns.length)
      throw new TidemarkException(
        OrderErrors.InvalidOrder("orders by a window that is computed there: add it as a column first"))
    ordered
  }

  /** Adds a column with the results of asynchronous calls, of which a task has many in flight at one time. The rows keep their
    * columns, and the watermarks of all of them. Calls are made at least once. Not on Spark Connect.
    *
    * {{{
    * mapAsync(orders, "profile", Seq($"user_id"), schema, AsyncOptions(timeout = "2 seconds", retries = 2)) { row =>
    *   Clients.profiles.get(row.getLong(0)) // an object's lazy val, so that each executor has one client
    * }
    * }}}
    *
    * @param column the name of the new column
    * @param inputs what the function is given, as a row
    * @param returns the type of a result. A `StructType` is returned as a `Row`, others as in rows
    * @param call is made on the executors. Its `Future` is of an execution context of the caller's
    * @throws TidemarkException `INVALID_OPTION`, `UNSUPPORTED_ON_CONNECT`, `ASYNC_KEY_SPREAD`. When the query runs:
    *   `ASYNC_CALL_FAILED`, `ASYNC_RESULT_TYPE`, `ASYNC_SLOTS_STUCK`
    */
  def mapAsync(
      df: DataFrame,
      column: String,
      inputs: Seq[Column],
      returns: DataType,
      options: AsyncOptions = AsyncOptions())(call: Row => Future[Any]): DataFrame =
    mapAsyncWith(df, column, inputs, returns, () => (), options)((_: Unit, row) => call(row))

  /** As [[mapAsync]], with a client that each task opens at its first row, and closes at its end if it is an
    * `AutoCloseable`.
    *
    * {{{
    * mapAsyncWith(orders, "profile", Seq($"user_id"), schema, () => new Profiles(url)) { (profiles, row) =>
    *   profiles.get(row.getLong(0))
    * }
    * }}}
    *
    * @param open makes the client, on the executors
    * @throws TidemarkException as `mapAsync` does. When the query runs: `ASYNC_SERVICE_FAILED`
    */
  def mapAsyncWith[C](
      df: DataFrame,
      column: String,
      inputs: Seq[Column],
      returns: DataType,
      open: () => C,
      options: AsyncOptions = AsyncOptions())(call: (C, Row) => Future[Any]): DataFrame =
    MakeAsyncMap(
      df,
      column,
      inputs,
      returns,
      options,
      length("timeout", options.timeout),
      length("backoff", options.backoff).getOrElse(0L),
      open,
      call)

  /** The id of the call that is begun, for services that have to tell a repeated call from a new one: a UUID. It is made of
    * the query, the batch, the partition, the column and the inputs. Calls with equal inputs in one partition have different
    * ids, the retries of a call have one, and a batch that runs again has the same ids, as long as its rows come to the same
    * partitions. In a batch query the ids are the same when a task runs again, and new in each action.
    *
    * {{{
    * mapAsync(orders, "paid", Seq($"amount"), BooleanType) { row =>
    *   val id = callId() // here: the Future runs in another thread
    *   Clients.payments.post(row.getDecimal(0), id)
    * }
    * }}}
    *
    * @throws TidemarkException `ASYNC_OUTSIDE_CALL` if it is not called in the function of `mapAsync`, in its thread
    */
  def callId(): String =
    CallIds.now().getOrElse(throw new TidemarkException(AsyncErrors.AsyncOutsideCall())).toString

  /** Says what a streaming DataFrame would wait for, and what is wrong with its plan. Nothing is started.
    *
    * @param outputMode that it will be written in: `append`, `update` or `complete`
    * @param trigger `availableNow`, if the query will have that trigger
    * @throws TidemarkException `NOT_STREAMING`, `INVALID_OPTION`
    */
  def explain(df: DataFrame, outputMode: String = "append", trigger: Option[String] = None): Explanation =
    ExplainedFrame.of(df, outputMode, trigger)

  /** The watermarks of a streaming query after the last batch that has ended, and what holds each back. Also of one that has
    * ended, for the last 100 of them.
    */
  def report(query: StreamingQuery): QueryReport = AskedReport.of(query.sparkSession, query.runId.toString)

  private def fields(options: WatermarkOptions): Fields[String, Any] = {
    val all = new Fields[String, Any]
    def put(name: String, value: Option[Any]): Unit = value.foreach(all.put(name, _))
    put("key", options.key)
    put("idleAfter", options.idle.after)
    val writers = options.noted.toSeq.flatMap(_.expected)
    put("expectedSplits", Option.when(options.splitBy.expected.nonEmpty)(expected(options.splitBy)))
    put("expectedSplits", Option.when(writers.nonEmpty)(writers.map(Seq(_).asJava).asJava))
    put("forgetAfter", options.splitBy.forgetAfter)
    put("noted", options.noted.map(_.location.getOrElse(true)))
    put("onlyExpected", options.noted.map(_.onlyExpected).filter(identity))
    put("notedOptions", options.noted.map(_.options).filter(_.nonEmpty).map(_.asJava))
    put("onReturn", options.idle.onReturn)
    put("whenAll", options.idle.whenAll)
    put("maxAhead", options.maxAhead)
    put("atJoin", options.idle.atJoin)
    all
  }

  private def length(option: String, text: String): Option[Long] = TidemarkConf
    .length(text)
    .getOrElse(throw new TidemarkException(TidemarkError.InvalidOption(option, text, TidemarkConf.OneLength)))

  private def expected(splitBy: SplitBy) =
    splitBy.expected.map { split =>
      if (split.size != splitBy.by.size)
        throw new TidemarkException(TidemarkError.ExpectedSplitWidth(split.size, splitBy.by.size))
      split.map(_.orNull).asJava
    }.asJava
}
