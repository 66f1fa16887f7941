package org.apache.spark.sql.tidemark.support

import java.io.File

import io.tidemark.NoteTimeOptions

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.noted.{MarkFolder, MarkLogReader}

/** A query that writes files and notes how far they are. */
trait NotingQuery extends WatermarkTest {
  import testImplicits._

  protected def hourly(rows: DataFrame): DataFrame =
    rows.toDF("time").withWatermark("time", "10 minutes").groupBy(window($"time", "1 hour")).count()

  protected def noted(log: File): Seq[(String, Option[Long])] =
    histories(log).map(history => history.writer -> history.lastNote(history.marks.size).map(_._2))

  protected def write(df: DataFrame, folder: File): StreamingQuery =
    df.writeStream.format("parquet").option("checkpointLocation", new File(folder, "a").getPath)
      .start(new File(folder, "out").getPath)

  protected def to(log: File) = NoteTimeOptions(log.getPath)

  protected def histories(log: File) =
    new MarkLogReader(new MarkFolder(new org.apache.hadoop.fs.Path(log.getPath), spark.sessionState.newHadoopConf()))
      .read().histories.values.toSeq
}
