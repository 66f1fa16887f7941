package org.apache.spark.sql.tidemark.support

import java.io.File
import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import io.tidemark.{Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.tidemark.support.{ManualClockTest, MarkLog, RefusalsTest}

/** A query whose input has marks as its clocks, and its report. */
trait NotedReportTest extends RefusalsTest with ManualClockTest {
  import testImplicits._

  protected def number(n: Long) = s"""{"number":$n}"""

  protected def input(log: MarkLog, maxAhead: String = "none") = {
    val stream = MemoryStream[(String, Timestamp)]
    stream -> marked(stream.toDF().toDF("id", "time"), log, maxAhead)
  }

  protected def marked(rows: DataFrame, log: MarkLog, maxAhead: String = "none") = withWatermark(
    rows,
    "time",
    "0 seconds",
    WatermarkOptions(maxAhead = Some(maxAhead), noted = Some(Noted(log.location))))

  protected def withLog(test: MarkLog => Unit): Unit =
    withTempDir(folder => test(new MarkLog(new File(folder, "_tidemark"))))

  protected def codes(report: JsonNode) = report.get("notes").elements.asScala.map(_.get("code").asText).toSeq

  protected def triggers(count: Int): StreamAction = Execute { _ =>
    for (_ <- 1 to count) { moveWithin(1000); triggered() }
  }
}
