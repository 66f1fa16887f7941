package org.apache.spark.sql.tidemark.support

import java.io.File
import java.sql.Timestamp
import java.time.Instant

import io.tidemark.WatermarkOptions
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._

/** A query that has read a row of the far future, and the correction of its clocks. */
trait CorrectedQuery extends TwoStreams {
  import testImplicits._

  protected val year2100 = Timestamp.from(Instant.parse("2100-01-01T00:00:00Z"))

  protected final class Orders(options: WatermarkOptions = WatermarkOptions(key = Some("orders"))) {
    val stream: MemoryStream[(String, Timestamp)] = MemoryStream[(String, Timestamp)]
    def rows: DataFrame = stream.toDF().toDF("device", "time")
    def marked(maxAhead: Option[String] = None): DataFrame =
      withWatermark(rows, "time", "10 minutes", options.copy(maxAhead = maxAhead))
    def step(times: (String, Timestamp)*): Step = () => { stream.addData(times: _*); () }
    def step(time: String): Step = step("a" -> at(time))
  }

  protected val limit = Some("1 hour")

  protected def windows(df: DataFrame, time: String = "time"): DataFrame =
    df.groupBy(window(col(time), "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  protected def correct(checkpoint: File, more: String): Row =
    spark.sql(s"SELECT * FROM tidemark_correct('${checkpoint.getCanonicalPath}', $more)").collect().head

  protected def to(clock: String) = s"TIMESTAMP '2024-03-01 $clock:00'"

  /** A query with a row of the far future, after which all rows are late. */
  protected def broken(checkpoint: File, orders: Orders): Recorder = {
    val recorder = new Recorder("append", checkpoint)
    recorder.run(windows(orders.marked()))(orders.step("10:05"), orders.step("a" -> year2100), orders.step("10:31"))
    recorder
  }
}
