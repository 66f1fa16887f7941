package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import io.tidemark.{Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream

/** A query whose input has marks as its clocks, and its report. */
trait NotedReportTest extends RefusalsTest with ManualClockTest with MarkLogTest {
  import testImplicits._

  protected def input(log: MarkLog, maxAhead: String = "none") = {
    val stream = MemoryStream[(String, Timestamp)]
    stream -> marked(stream.toDF().toDF("id", "time"), log, maxAhead)
  }

  protected def marked(rows: DataFrame, log: MarkLog, maxAhead: String = "none") = withWatermark(
    rows,
    "time",
    "0 seconds",
    WatermarkOptions(maxAhead = Some(maxAhead), noted = Some(Noted(log.location))))

  protected def codes(report: JsonNode) = report.get("hints").elements.asScala.map(_.get("code").asText).toSeq

  protected def triggers(count: Int): StreamAction = Execute { _ =>
    for (_ <- 1 to count) { moveWithin(1000); triggered() }
  }
}
