package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.query.QueryWatermarks

/** Readings of devices, and what is known of their splits. */
trait SplitInputs extends RecordedRuns {
  import testImplicits._

  protected def readings: (MemoryStream[(String, Timestamp, Int)], DataFrame) = {
    val stream = MemoryStream[(String, Timestamp, Int)]
    stream -> stream.toDF().toDF("device", "time", "n")
  }

  protected def split(df: DataFrame, by: Column*): DataFrame =
    withWatermark(df, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy(by)))

  protected def counted(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  protected def splitsOf(query: QueryWatermarks): Map[String, Option[Long]] = {
    val splits = query.view.get.snapshot.entry.origins.values.head.splits
    (0 until splits.size).map(s => SplitNameTable.show(splits.name(s)) -> splits.clock(s)).toMap
  }
}
