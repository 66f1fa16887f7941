package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.sql.Timestamp

import io.tidemark.{Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.{MarkLog, WatermarkTest}

/** Marks of what a file sink has written, in its batches. */
class NotedSinkSuite extends WatermarkTest {
  import testImplicits._

  private def readAll(folder: File, checkpoint: File): Unit = {
    val rows = spark.readStream.schema("time timestamp").option("maxFilesPerTrigger", 1L).json(folder.getPath)
    withWatermark(rows, "time", "0 seconds", WatermarkOptions(noted = Some(Noted())))
      .groupBy(window($"time", "10 minutes")).count()
      .writeStream.format("noop").trigger(Trigger.AvailableNow()).outputMode("update")
      .option("checkpointLocation", checkpoint.getPath).start().awaitTermination()
  }

  private def watermark(checkpoint: File): Option[Long] = {
    val last = new File(checkpoint, "tidemark").list().toSeq.flatMap(_.toLongOption).max
    entry(checkpoint, last).origins.values.head.watermark.millis
  }

  test("a mark with a batch of a file sink is passed with the last file up to it, whatever the sink has compacted") {
    withTempDir { folder =>
      withTempDir { checkpoint =>
        val out = new File(folder, "out")
        val log = new MarkLog(new File(out, "_tidemark"))
        val stream = MemoryStream[Timestamp]
        withSQLConf(
          SQLConf.FILE_SINK_LOG_COMPACT_INTERVAL.key -> "3",
          SQLConf.FILE_SINK_LOG_CLEANUP_DELAY.key -> "0",
          SQLConf.MIN_BATCHES_TO_RETAIN.key -> "1") {
          for (batch <- 0 until 8) {
            stream.addData(at(f"10:${batch}%02d"))
            stream.toDF().toDF("time").coalesce(1).writeStream.format("json").trigger(Trigger.AvailableNow())
              .option("checkpointLocation", new File(folder, "writing").getPath).start(out.getPath).awaitTermination()
            log.note("writer", millis(f"10:${batch}%02d"), s"""{"sink":{"batch":$batch}}""")
          }
        }
        readAll(out, checkpoint)
        assert(watermark(checkpoint).contains(millis("10:07")))
      }
    }
  }

  test("a mark with a batch of a file sink holds where no sink has written, and creates nothing there") {
    withTempDir { folder =>
      withTempDir { checkpoint =>
        Seq(at("10:01")).toDF("time").coalesce(1).write.mode("append").json(folder.getPath)
        new MarkLog(new File(folder, "_tidemark")).note("writer", millis("10:01"), """{"sink":{"batch":0}}""")
        readAll(folder, checkpoint)
        assert(watermark(checkpoint).isEmpty)
        assert(!new File(folder, "_spark_metadata").exists)
      }
    }
  }
}
