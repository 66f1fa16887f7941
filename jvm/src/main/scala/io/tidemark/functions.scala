package io.tidemark

import java.util.{LinkedHashMap => Fields}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions.{call_function, col, lit}

/** Tidemark for Scala users; what `tidemark.with_watermark` is in Python. */
object functions {
  private val mapper = new ObjectMapper

  /** Declares a column as event time, with a watermark of its own: `df.withWatermark`, and what goes beyond it.
    *
    * {{{
    * withWatermark(orders, "time", "10 minutes", WatermarkOptions(
    *   key = Some("orders"), splitBy = SplitBy($"topic", $"partition"), idle = Idle("1 minute")))
    * }}}
    *
    * @param column a top-level column; its name is taken as it is, dots and blanks included
    * @param delay how late rows may come, as Spark's interval text
    * @throws TidemarkException `INVALID_OPTION`, `INVALID_SPLITS`; where the session has no Tidemark extension, Spark says
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

  /** The watermark of the one event-time column there is, by which rows that come here are late in this batch; null where
    * there is none yet, and in batch queries.
    *
    * @throws TidemarkException `NO_WATERMARK` where there is none or several; by then or when the query's first batch is
    *   planned. `LEFT_TO_SPARK` in a query whose watermarks are Spark's own
    */
  def currentWatermark(): Column = call_function("current_watermark")

  /** The same of an event-time column, or of a window. */
  def currentWatermark(column: Column): Column = call_function("current_watermark", column)

  /** The same of the input whose watermark has that key, wherever in the query it is. */
  def currentWatermark(key: String): Column = call_function("current_watermark", lit(key))

  /** Whether a row is late by that event-time column where it is now: at or before [[currentWatermark]]. A null time is
    * never late, and nothing is in a batch query. An operator drops by the column that it goes by: ask for the window in
    * front of an aggregation by windows.
    *
    * @throws TidemarkException as [[currentWatermark]]
    */
  def isLate(column: Column): Column = call_function("is_late", column)

  private def fields(options: WatermarkOptions): Fields[String, Any] = {
    val all = new Fields[String, Any]
    def put(name: String, value: Option[Any]): Unit = value.foreach(all.put(name, _))
    put("key", options.key)
    put("idleAfterMs", options.idle.after.map(millis("idle_after", _)))
    put("expectedSplits", Option.when(options.splitBy.expected.nonEmpty)(expected(options.splitBy)))
    put("onReturn", options.idle.onReturn)
    put("whenIdle", options.idle.whenAll)
    put("maxAheadMs", options.maxAhead.map(millis("max_ahead", _)))
    put("joinIdle", options.idle.atJoin)
    all
  }

  private def millis(option: String, text: String): Any = TidemarkConf
    .length(text)
    .getOrElse(throw new TidemarkException(TidemarkError.invalidOption(option, text, TidemarkConf.OneLength)))
    .getOrElse(TidemarkConf.NoLength)

  private def expected(splitBy: SplitBy) =
    splitBy.expected.map { split =>
      if (split.size != splitBy.by.size)
        throw new TidemarkException(TidemarkError.expectedSplitWidth(split.size, splitBy.by.size))
      split.map(_.orNull).asJava
    }.asJava
}
