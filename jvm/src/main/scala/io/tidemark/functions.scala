package io.tidemark

import java.util.{LinkedHashMap => Fields}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions.{call_function, col, lit}

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

  /** Between which times the rows of a batch are, as their writers have noted it: a struct of `lower`, the watermark of
    * the batch at this place, and `upper`, the next time that all writers have noted ahead. See `docs/noted-time/readers.md`
    * for when they are null.
    *
    * @throws TidemarkException as for [[currentWatermark]]
    */
  def timeWindow(column: Column): Column = call_function("tidemark_time_window", column)

  /** The same for the input whose watermark has that key, anywhere in the query. */
  def timeWindow(key: String): Column = call_function("tidemark_time_window", lit(key))

  /** Notes how far the output of a streaming query is: the watermark of a column, as marks in a log that other queries go by.
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
    put("writer", options.writer)
    put("lessMs", options.less.map(millis("less", _)))
    put("position", options.position)
    put("options", Option.when(options.positionOptions.nonEmpty)(options.positionOptions.asJava))
    put("failure", Option.when(options.failsQuery)("fail"))
    val time = col("`" + column.replace("`", "``") + "`")
    df.withColumn(column, call_function("tidemark_note_time", time, lit(mapper.writeValueAsString(all))))
  }

  private def fields(options: WatermarkOptions): Fields[String, Any] = {
    val all = new Fields[String, Any]
    def put(name: String, value: Option[Any]): Unit = value.foreach(all.put(name, _))
    put("key", options.key)
    put("idleAfterMs", options.idle.after.map(millis("idle_after", _)))
    val writers = options.noted.toSeq.flatMap(_.expected)
    put("expectedSplits", Option.when(options.splitBy.expected.nonEmpty)(expected(options.splitBy)))
    put("expectedSplits", Option.when(writers.nonEmpty)(writers.map(Seq(_).asJava).asJava))
    put("noted", options.noted.map(_.location.getOrElse(true)))
    put("onlyExpected", options.noted.map(_.onlyExpected).filter(identity))
    put("onReturn", options.idle.onReturn)
    put("whenAll", options.idle.whenAll)
    put("maxAheadMs", options.maxAhead.map(millis("max_ahead", _)))
    put("atJoin", options.idle.atJoin)
    all
  }

  private def millis(option: String, text: String): Any = TidemarkConf
    .length(text)
    .getOrElse(throw new TidemarkException(TidemarkError.InvalidOption(option, text, TidemarkConf.OneLength)))
    .getOrElse(TidemarkConf.NoLength)

  private def expected(splitBy: SplitBy) =
    splitBy.expected.map { split =>
      if (split.size != splitBy.by.size)
        throw new TidemarkException(TidemarkError.ExpectedSplitWidth(split.size, splitBy.by.size))
      split.map(_.orNull).asJava
    }.asJava
}
