package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.nio.file.Files

import io.tidemark.{Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.Row
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.NotedInputTest

/** Files whose writers note which of them are complete. */
class NotedFilesSuite extends NotedInputTest {

  test("files are passed mark by mark, and what is available now is read to its end") {
    withLog { log =>
      val folder = log.folder.getParentFile
      val name = "a b%20c.json"
      def write(file: String, times: String*): Unit = {
        val rows = times.map(time => s"""{"time":"2024-03-01T$time:00Z"}""").mkString("", "\n", "\n")
        Files.writeString(new File(folder, file).toPath, rows)
        ()
      }
      write("1.json", "10:05")
      write(name, "10:15", "10:07")
      log.note("eu", millis("10:04"), """{"files":["1.json"]}""")
      log.note("eu", millis("10:16"), s"""{"files":["$name"]}""")
      def df = {
        val rows = spark.readStream.schema("time timestamp").option("maxFilesPerTrigger", 1L).json(folder.getPath)
        counted(withWatermark(rows, "time", "0 seconds", WatermarkOptions(noted = Some(Noted()))))
      }
      withTempDir { checkpoint =>
        def runOnce(): Unit = df.writeStream.format("noop").trigger(Trigger.AvailableNow())
          .option("checkpointLocation", checkpoint.getPath).outputMode("update").start().awaitTermination()
        runOnce()
        def watermark = entry(checkpoint, list(checkpoint).max).origins.values.head.watermark.millis
        assert(watermark.contains(millis("10:16")))
        // The next file has not arrived yet: its mark holds, and the file after it does not help.
        log.note("eu", millis("10:30"), """{"files":["2.json"]}""")
        log.note("eu", millis("10:40"), """{"files":["3.json"]}""")
        write("3.json", "10:39")
        runOnce()
        assert(watermark.contains(millis("10:16")))
        write("2.json", "10:29")
        runOnce()
        assert(watermark.contains(millis("10:40")))
        assert(spark.read.json(s"${folder.getPath}/*.json").count() === 5)
      }
    }
  }

  test("a new query loses no row of files whose marks were purged") {
    withLog { log =>
      val folder = log.folder.getParentFile
      for (n <- 0 until 6) {
        val file = new File(folder, s"$n.json")
        Files.writeString(file.toPath, s"""{"time":"2024-03-01T1$n:05:00Z"}\n""")
        // The source reads the oldest file first, and a copy has changed the order.
        file.setLastModified(1700000000000L + 1000L * (n * 5 % 6))
        log.note("eu", millis(s"1$n:30"), s"""{"files":["$n.json"]}""")
      }
      for (minute <- 31 to 39) log.note("eu", millis(s"15:$minute"), """{"files":[]}""")
      log.note("eu", millis("16:00"), """{"files":[]}""")
      log.purge("eu", left = 5)
      withTempDir { checkpoint =>
        val rows = spark.readStream.schema("time timestamp").option("maxFilesPerTrigger", 1L).json(folder.getPath)
        val noted = withWatermark(rows, "time", "0 seconds", WatermarkOptions(noted = Some(Noted())))
        counted(noted).writeStream.format("memory").queryName("purged").trigger(Trigger.AvailableNow())
          .option("checkpointLocation", checkpoint.getPath).start().awaitTermination()
        checkAnswer(spark.table("purged"), (0 until 6).map(n => Row(s"1$n:00", 1L)))
      }
    }
  }

  private def list(checkpoint: File): Seq[Long] =
    new File(checkpoint, "tidemark").list().toSeq.flatMap(_.toLongOption)
}
