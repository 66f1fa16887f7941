package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.columns.EventTimeOptions
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.types.MetadataBuilder

/** Inputs that are not allowed or noted, and what a report says of a query that runs. */
trait RefusalsTest extends WatermarkTest {
  import testImplicits._

  protected def report(check: JsonNode => Unit): StreamAction =
    Execute(query => check(new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get)))

  /** The column with a key of the user's, before a watermark is put on it. */
  protected def withKey(df: DataFrame, column: String, key: String): DataFrame =
    df.withMetadata(column, new MetadataBuilder().putString(EventTimeOptions.KeyMetadata, key).build())

  protected def bare(name: String) = {
    val stream = MemoryStream[(Int, Timestamp)]
    (stream, stream.toDF().toDF("id", name))
  }

  protected def counted(df: DataFrame, time: String): DataFrame = df.groupBy(window(col(time), "10 minutes")).count()
}
