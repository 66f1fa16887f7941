package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.nio.file.{Files, Path}
import java.sql.Timestamp

import scala.collection.mutable

import io.tidemark.{Noted, NoteTimeOptions, WatermarkOptions}
import io.tidemark.core.noted.Mark
import io.tidemark.functions.{noteTime, withWatermark}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.noted.MarkLogReader
import org.apache.spark.sql.tidemark.sources.FilesIn
import org.apache.spark.sql.tidemark.support.{MarkLines, WatermarkTest}

/** A query that writes files in `foreachBatch`, and lists them in its marks. */
class NotingFilesSuite extends WatermarkTest {
  import testImplicits._

  /** A query that counts rows by hour. Each batch replaces what an earlier attempt of it has written. */
  private final class Counting(folder: File) {
    val out = new File(folder, "out")
    val log = new File(out, "_tidemark")
    val stream: MemoryStream[Timestamp] = MemoryStream[Timestamp]
    out.mkdir()

    /** Whether the next batch with rows fails behind its last file. */
    @volatile var fails = false

    /** Whether the folder is away between two batches, so that it cannot be listed. */
    @volatile var isAwayBetween = false
    private val away = new File(folder, "away")

    /** The files of marks at the beginning of each batch's function. */
    val listedBefore: mutable.Buffer[Set[String]] = mutable.Buffer.empty

    def start(position: String = s"files:$out"): StreamingQuery = {
      val counts = stream.toDF().toDF("time").withWatermark("time", "10 minutes")
        .groupBy(window($"time", "1 hour")).count()
      noteTime(counts, "window", NoteTimeOptions(writer = Some("w"), position = Some(position)))
        .select($"window.end".as("time"), $"count").writeStream
        .foreachBatch { (rows: Dataset[Row], batch: Long) =>
          if (away.exists) Files.move(away.toPath, out.toPath)
          listedBefore += listed.toSet
          rows.write.mode("overwrite").json(s"$out/batch=$batch")
          if (fails && !rows.isEmpty) throw new IllegalStateException("behind the last file")
          if (isAwayBetween) Files.move(out.toPath, away.toPath)
          ()
        }
        .option("checkpointLocation", new File(folder, "a").getPath).start()
    }

    def run(): Unit = {
      val query = start()
      try query.processAllAvailable()
      finally query.stop()
    }

    def marks: Seq[Mark] = marksIn(log)
    def listed: Seq[String] = marks.flatMap(_.files).flatten
    def times: Seq[Long] = marks.flatMap(_.timeMillis)

    /** Waits until the query that has ended has noted a time. */
    def hasNoted(clock: String): Unit = eventually(timeout(streamingTimeout))(assert(times.lastOption ===
      Some(millis(clock))))

    /** The files in the output folder. */
    def files: Set[String] = filesIn(out.toPath)
  }

  private def filesIn(path: Path): Set[String] =
    new FilesIn(new HadoopPath(path.toUri), new Configuration).all.names

  private def marksIn(log: File): Seq[Mark] =
    if (!log.isDirectory) Nil
    else new MarkLogReader(MarkLines.folder(log.toPath)).read().histories.values.toSeq.flatMap(_.marks)

  /** A query that sums what the first one has counted. */
  private final class Summing(counting: Counting, folder: File) {
    val sums: mutable.Buffer[(String, Long)] = mutable.Buffer.empty
    var late = 0L

    def run(): Unit = {
      val counts = spark.readStream.schema("time TIMESTAMP, count LONG, batch INT").json(counting.out.getPath)
      val query = withWatermark(counts, "time", "0 seconds", WatermarkOptions(noted = Some(Noted())))
        .groupBy("time").agg(sum("count").as("rows")).select(date_format($"time", "HH:mm"), $"rows").writeStream
        .foreachBatch((rows: Dataset[Row], _: Long) => { sums ++= rows.as[(String, Long)].collect(); () })
        .option("checkpointLocation", new File(folder, "b").getPath).start()
      try query.processAllAvailable()
      finally query.stop()
      late += query.recentProgress.flatMap(_.stateOperators).map(_.numRowsDroppedByWatermark).sum
    }
  }

  test(
    "a second query follows the marks of files that foreachBatch has written, also if a batch runs again") {
    withTempDir { folder =>
      val counting = new Counting(folder)
      counting.stream.addData(at("11:05"), at("11:50"), at("12:20"))
      counting.run()
      counting.hasNoted("12:10")
      assert(counting.listed.toSet === counting.files)
      val second = new Summing(counting, folder)
      second.run()
      assert(second.sums === Seq("12:00" -> 2L))

      // An hour is written that this run cannot note, and the batch of the next hour fails.
      counting.isAwayBetween = true
      val query = counting.start()
      try {
        counting.stream.addData(at("13:20"))
        query.processAllAvailable()
        counting.fails = true
        counting.stream.addData(at("14:20"))
        intercept[Exception](query.processAllAvailable())
      } finally query.stop()
      val abandoned = counting.files

      counting.fails = false
      counting.isAwayBetween = false
      counting.run()
      counting.hasNoted("14:10")
      assert((abandoned -- counting.files).nonEmpty)
      // No reader waits for files that the second attempt has removed, and each file is listed once.
      assert(counting.listed.sorted === counting.files.toSeq.sorted)
      second.run()
      assert(second.sums.sorted === Seq("12:00" -> 2L, "13:00" -> 1L, "14:00" -> 1L))
      assert(second.late === 0)
    }
  }

  test("files are listed behind the commit of their batch, and those of a killed run by the next one") {
    withTempDir { folder =>
      val counting = new Counting(folder)
      // A file where the folder of marks should be.
      Files.createFile(counting.log.toPath)
      counting.stream.addData(at("11:05"), at("12:20"))
      counting.run()
      assert(counting.files.nonEmpty)
      Files.delete(counting.log.toPath)
      withSQLConf(SQLConf.STREAMING_NO_DATA_PROGRESS_EVENT_INTERVAL.key -> "0") {
        val query = counting.start()
        try {
          query.processAllAvailable()
          counting.hasNoted("12:10")
        } finally query.stop()
      }
      assert(counting.listed.sorted === counting.files.toSeq.sorted)
      assert(counting.listedBefore.forall(_.isEmpty))
    }
  }

  test("a position that is not a folder is refused by name") {
    withTempDir { folder =>
      val counting = new Counting(folder)
      counting.stream.addData(at("11:05"))
      val file = Files.createFile(new File(folder, "file").toPath)
      for ((position, why) <- Seq(
          "files: " -> "names no folder",
          s"files:$folder/*/orders" -> "has wildcards",
          s"files:$file" -> "is a file")) {
        val query = counting.start(position)
        val reason = s"has the position '$position', which $why. Give the folder that has the files"
        try assertQueryRefused("INVALID_NOTE_TIME", "reason" -> reason)(query.processAllAvailable())
        finally query.stop()
      }
    }
  }

  test("files of a sink that keeps a log of them are refused as a position") {
    withTempDir { folder =>
      val stream = MemoryStream[Timestamp]
      stream.addData(at("11:05"))
      val hours =
        stream.toDF().toDF("time").withWatermark("time", "10 minutes").groupBy(window($"time", "1 hour")).count()
      val query = noteTime(hours, "window", NoteTimeOptions(position = Some(s"files:$folder/out")))
        .writeStream.format("json").option("checkpointLocation", s"$folder/a").start(s"$folder/out")
      val reason =
        s"has the position 'files:$folder/out', but the sink keeps a log of its files. Leave out the position"
      try assertQueryRefused("INVALID_NOTE_TIME", "reason" -> reason)(query.processAllAvailable())
      finally query.stop()
    }
  }

  test("the files below a folder have names with slashes, and hidden ones are left out at any level") {
    withTempDir { folder =>
      def put(name: String): Unit = {
        val file = folder.toPath.resolve(name)
        Files.createDirectories(file.getParent)
        Files.createFile(file)
      }
      val shown = Set("1.json", "day=1/2.json", "day=1/hour=2/3 %20ü.json", "_day=1/4.json")
      val hidden = Set("_SUCCESS", ".1.json.crc", "_tidemark/w.1.0.marks", "day=1/_temporary/0/5.json", "day=1/.6.json")
      (shown ++ hidden).foreach(put)
      assert(filesIn(folder.toPath) === shown)
      intercept[java.io.IOException](filesIn(folder.toPath.resolve("gone")))
    }
  }
}
