package org.apache.spark.sql.tidemark.report

import java.io.File
import java.nio.file.Files

import io.tidemark.WatermarkOptions
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.RecordedRuns

/** The function `tidemark_offsets` says how far a query had read its sources at an event time. */
class OffsetsTableSuite extends RecordedRuns {
  import testImplicits._

  // One file is one batch; the watermark is 10 minutes behind.
  private val files = Seq(Seq("10:00", "10:05"), Seq("10:20"), Seq("10:40"), Seq("10:12"), Seq("11:00"))

  private def time(clock: String) = s"2024-01-01 $clock:00"

  private def write(folder: File, clocks: Seq[Seq[String]]): Unit = clocks.zipWithIndex.foreach { case (rows, n) =>
    val file = new File(folder, s"$n.json")
    Files.writeString(file.toPath, rows.map(clock => s"""{"time": "${time(clock)}"}""").mkString("\n"))
    file.setLastModified(1700000000000L + n * 1000L)
  }

  private def run(folder: File, checkpoint: File, key: String = "readings"): Unit = {
    val read = spark.readStream.schema("time TIMESTAMP").option("maxFilesPerTrigger", 1).json(folder.getCanonicalPath)
    withWatermark(read, "time", "10 minutes", WatermarkOptions(key = Some(key)))
      .groupBy(window($"time", "10 minutes"))
      .count()
      .writeStream
      .option("checkpointLocation", checkpoint.getCanonicalPath)
      .trigger(Trigger.AvailableNow())
      .format("noop")
      .start()
      .awaitTermination()
  }

  private def offsets(checkpoint: File, clock: String, more: String = ""): DataFrame =
    spark.sql(s"SELECT * FROM tidemark_offsets('${checkpoint.getCanonicalPath}', TIMESTAMP '${time(clock)}'$more)")

  private def filesAt(checkpoint: File, clock: String, edge: String): Seq[String] =
    offsets(checkpoint, clock, s", '$edge'").select("files").collect().toSeq.flatMap(_.getSeq[String](0))
      .map(new File(_).getName).sorted

  private def assertNoCut(checkpoint: File, clock: String, more: String = "")(reason: String): Unit =
    assertRefused("NO_CUT", "reason" -> reason)(offsets(checkpoint, clock, more))

  /** The last batch that Spark has committed. */
  private def committed(checkpoint: File): Long =
    new File(checkpoint, "commits").list().toSeq.flatMap(_.toLongOption).max

  private def withRun(body: (File, File) => Unit): Unit = withTempDir { folder =>
    withTempDir { checkpoint =>
      write(folder, files)
      run(folder, checkpoint)
      body(folder, checkpoint)
    }
  }

  /** As if stock Spark had run a batch again: by Spark's log, it began at another time. */
  private def runAgain(checkpoint: File, batch: Long): Unit = {
    val offsets = new File(checkpoint, s"offsets/$batch")
    val text = Files.readString(offsets.toPath)
    Files.writeString(offsets.toPath, text.replaceFirst("\"batchTimestampMs\":\\d+", "\"batchTimestampMs\":1"))
    val _ = new File(checkpoint, s"offsets/.$batch.crc").delete()
  }

  test("complete returns the files that were read when the watermark reached the time") {
    withRun { (_, checkpoint) =>
      assert(filesAt(checkpoint, "10:10", "complete") === Seq("0.json", "1.json"))
      assert(filesAt(checkpoint, "10:11", "complete") === Seq("0.json", "1.json", "2.json"))
      val row = offsets(checkpoint, "10:10").drop("files").head()
      assert(row === Row(1L, "0", "files", """{"logOffset":1}""", null, null))
    }
  }

  test("before returns the files that have no row later than the time, so the other files have every such row") {
    withRun { (folder, checkpoint) =>
      val read = filesAt(checkpoint, "10:39", "before")
      assert(read === Seq("0.json", "1.json"))
      val others = files.indices.map(n => s"$n.json").diff(read).map(new File(folder, _).getCanonicalPath)
      val later = spark.read.schema("time TIMESTAMP").json(others: _*).where(s"time > TIMESTAMP '${time("10:39")}'")
      val all = files.flatten.filter(_ > "10:39")
      assert(later.select(date_format($"time", "HH:mm")).as[String].collect().sorted === all.sorted)
    }
  }

  test("a time that the log does not cover is refused, and the error says what the log has") {
    withRun { (_, checkpoint) =>
      val last = committed(checkpoint)
      assertNoCut(checkpoint, "10:51")(
        s"after batch $last, the last one in the log, the watermark 'readings' is at 2024-01-01 10:50:00")
      assertNoCut(checkpoint, "10:04", ", 'before'")(
        "batch 0 has read rows up to 2024-01-01 10:05:00 already, so nothing but the start of the sources is before them")
      assertNoCut(checkpoint, "10:10", ", 'complete', 'x'")("no watermark has the key 'x'; there are 'readings'")
      // As if the first batches had been purged.
      for (batch <- Seq(0, 1)) assert(new File(checkpoint, s"tidemark/$batch").delete())
      assertNoCut(checkpoint, "10:30")(
        "after batch 2, the oldest one in the log, the watermark is at 2024-01-01 10:30:00 already")
      assertNoCut(checkpoint, "10:20", ", 'before'")(
        "batch 2, the oldest one in the log, or one before it has read rows up to 2024-01-01 10:40:00 already")
    }
  }

  test("rows read under another key, or without Tidemark, are unknown to before") {
    withRun { (folder, checkpoint) =>
      Files.writeString(new File(folder, "5.json").toPath, s"""{"time": "${time("10:55")}"}""")
      run(folder, checkpoint, "renamed")
      val last = committed(checkpoint)
      assertNoCut(checkpoint, "11:30", ", 'before', 'renamed'")(
        "batches up to 0 ran without Tidemark, or without this key, so what they have read is unknown")
      assertNoCut(checkpoint, "11:30", ", 'complete', 'renamed'")(
        s"after batch $last, the last one in the log, the watermark 'renamed' is at 2024-01-01 10:50:00")
    }
  }

  test("an entry that is empty, or of a batch that has been run again without Tidemark, does not count") {
    withRun { (_, checkpoint) =>
      val entries = new File(checkpoint, "tidemark").list().toSeq.flatMap(_.toLongOption)
      runAgain(checkpoint, 1)
      assert(filesAt(checkpoint, "10:10", "complete") === Seq("0.json", "1.json", "2.json"))
      Files.write(new File(checkpoint, s"tidemark/${entries.max}").toPath, Array.emptyByteArray)
      new File(checkpoint, s"tidemark/.${entries.max}.crc").delete()
      assert(filesAt(checkpoint, "10:10", "complete") === Seq("0.json", "1.json", "2.json"))
    }
  }

  test("if only the last batches ran again without Tidemark, the error says what the last batch with it had reached") {
    withRun { (_, checkpoint) =>
      val entries = new File(checkpoint, "tidemark").list().toSeq.flatMap(_.toLongOption)
      runAgain(checkpoint, entries.max)
      assertNoCut(checkpoint, "11:30")(
        s"after batch ${entries.max - 1}, the last one in the log, the watermark 'readings' is at 2024-01-01 10:50:00")
      entries.foreach(runAgain(checkpoint, _))
      assertNoCut(checkpoint, "11:30")(
        s"batches up to ${entries.max} ran without Tidemark, or without this key, so what they have read is unknown")
    }
  }

  test("a folder without a log, and arguments of the wrong kind, are refused by name") {
    withTempDir { empty =>
      assertRefused("NO_LOG", "checkpoint" -> empty.getCanonicalPath)(offsets(empty, "10:00"))
    }
    withRun { (_, checkpoint) =>
      for (more <- Seq(", 'after'", ", 1", ", 'before', 'a', 'b'"))
        assertRefused("WRONG_ARGUMENTS", "function" -> "tidemark_offsets")(offsets(checkpoint, "10:00", more))
      assertRefused("WRONG_ARGUMENTS", "function" -> "tidemark_offsets", "arguments" -> "2") {
        spark.sql(s"SELECT * FROM tidemark_offsets('${checkpoint.getCanonicalPath}', 'yesterday')")
      }
    }
  }

  test("offsets of Kafka name every partition: a later partition comes after as a whole") {
    val cut = SourceCut.of("""{"t":{"0":5}}""", """{"t":{"0":9,"1":3},"u":{"0":2}}""")
    assert(cut === SourceCut(
      "kafka",
      Some("""{"t":{"0":5,"1":-2},"u":{"0":-2}}"""),
      Some("""{"t":{"0":5,"1":0},"u":{"0":0}}""")))
  }

  test("an offset of Delta is the version after the last one that was read whole") {
    def offset(version: Int, index: Int, isStart: Boolean) =
      s"""{"sourceVersion":1,"reservoirId":"r","reservoirVersion":$version,"index":$index,"isStartingVersion":$isStart}"""
    assert(SourceCut.of(offset(7, -100, false), "{}") === SourceCut("delta", Some("7"), Some("6")))
    // Version 7 was read in part: a reader that begins there reads that part again.
    assert(SourceCut.of(offset(7, 3, false), "{}") === SourceCut("delta", Some("7"), Some("7")))
    assert(SourceCut.of(offset(7, 3, true), "{}") === SourceCut("delta"))
  }

  test("offsets of any other source are returned as they are") {
    for (json <- Seq("4", "\"x\"", "[1]", "{}", """{"shard":{"a":"b"}}"""))
      assert(SourceCut.of(json, json) === SourceCut("other"))
  }
}
