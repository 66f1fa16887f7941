package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream

/** Ways in which a column comes to bear Spark's mark that are not a watermark. */
trait MarkedColumns extends WatermarkTest {

  /** A data frame as a Python map makes it, which declares the schema again: other columns, of the same names and marks. */
  protected def mapped(df: DataFrame): DataFrame = {
    val other = df.mapPartitions((rows: Iterator[Row]) => rows)(ExpressionEncoder(df.schema))
    df.schema.foldLeft(other)((all, field) => all.withMetadata(field.name, field.metadata))
  }

  /** As a stream that is read by the schema of one with a watermark. */
  protected def marked(df: DataFrame, column: String): DataFrame =
    df.withMetadata(column, df.withWatermark(column, "0 seconds").schema(column).metadata)

  /** A stream of ids and times, under these names. */
  protected def keyedRows(name: String, time: String): (MemoryStream[(Int, Timestamp)], DataFrame) = {
    import testImplicits._
    val stream = MemoryStream[(Int, Timestamp)]
    stream -> stream.toDF().toDF(name, time)
  }
}
