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
    *   key = Some("orders"), splitBy = Seq($"topic", $"partition"), idleAfter = Some("1 minute")))
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
    val arguments = Seq(col(time), lit(mapper.writeValueAsString(fields(options)))) ++ options.splitBy
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
    put("idleAfterMs", options.idleAfter.map(millis("idle_after", _)))
    put("expectedSplits", Option.when(options.expectedSplits.nonEmpty)(expected(options)))
    put("onReturn", options.onReturn)
    put("whenIdle", options.whenIdle)
    put("maxAheadMs", options.maxAhead.map(millis("max_ahead", _)))
    put("joinIdle", options.joinIdle)
    all
  }

  private def millis(option: String, text: String): Any = TidemarkConf
    .length(text)
    .getOrElse(throw new TidemarkException(TidemarkError.invalidOption(option, text, TidemarkConf.OneLength)))
    .getOrElse(TidemarkConf.NoLength)

  private def expected(options: WatermarkOptions) =
    options.expectedSplits.map { split =>
      if (split.size != options.splitBy.size)
        throw new TidemarkException(TidemarkError.expectedSplitWidth(split.size, options.splitBy.size))
      split.map(_.orNull).asJava
    }.asJava
}

/** What a watermark is to be like. What is left out is as the session's `spark.tidemark.*` settings say.
  *
  * @param key the name that people know it by, in reports and in the checkpoint; else the column's name
  * @param splitBy expressions that say which split a row belongs to, each with a clock of its own
  * @param idleAfter how long a split may say nothing before it is left out, such as `1 minute`; without `splitBy` the
  *   whole input; `none`: never, whatever the session's setting
  * @param expectedSplits splits that hold the watermark before their first row, until they are heard or idle: for each
  *   the value of every expression as Spark casts it to text (timestamps in UTC), `None` for null
  * @param onReturn `hold` or `catch_up`: what a split does that comes back behind the watermark
  * @param whenIdle `hold`, `rise` or `advance`: what the watermark does while nothing at all is heard of the input
  * @param maxAhead how far an event time may be ahead of processing time and still move the watermark; `none`: as
  *   far as it likes, whatever the session's setting
  * @param joinIdle `hold` or `follow`: what a join does while this input is idle
  */
final case class WatermarkOptions(
    key: Option[String] = None,
    splitBy: Seq[Column] = Nil,
    idleAfter: Option[String] = None,
    expectedSplits: Seq[Seq[Option[String]]] = Nil,
    onReturn: Option[String] = None,
    whenIdle: Option[String] = None,
    maxAhead: Option[String] = None,
    joinIdle: Option[String] = None)
