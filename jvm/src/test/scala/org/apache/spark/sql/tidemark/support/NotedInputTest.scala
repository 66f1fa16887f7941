package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import io.tidemark.{Idle, Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._

/** A query whose watermark follows the times that writers note in a log. */
trait NotedInputTest extends ManualClockTest with MarkLogTest {
  import testImplicits._

  protected def input(noted: Noted, idle: Idle = Idle(), delay: String = "0 seconds") = {
    val stream = MemoryStream[(String, Timestamp)]
    val rows = stream.toDF().toDF("id", "time")
    stream ->
      withWatermark(rows, "time", delay, WatermarkOptions(idle = idle, maxAhead = Some("none"), noted = Some(noted)))
  }

  protected def counted(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  protected def watermarkOf(key: String)(query: StreamExecution): Option[Long] =
    watermarksOf(query).view.get.snapshot.decision.origins.collectFirst {
      case (name, at) if name.toString == key => at
    }
      .flatMap(_.millis)

  protected def after(millis: Long): StreamAction = move(millis)
}
