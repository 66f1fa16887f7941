package org.apache.spark.sql.tidemark.report

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.core.format.EntryCodec
import io.tidemark.core.support.ManySplits
import io.tidemark.functions.withWatermark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path, PathFilter}

import org.apache.spark.sql.{AnalysisException, DataFrame, Row}
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.log.{EntryFiles, EntryWriter}
import org.apache.spark.sql.tidemark.support.TwoStreams

/** The function `tidemark_log` reads a query's log from its checkpoint, without the query. */
class LogTableSuite extends TwoStreams {
  import testImplicits._

  private val union: Query = (a, b) =>
    counted(withWatermark(a, "ta", "0 seconds", WatermarkOptions(key = Some("a"), splitBy = SplitBy($"a" % 2))), "ta")
      .union(counted(b, "tb"))

  private def log(checkpoint: File): DataFrame =
    spark.sql(s"SELECT * FROM tidemark_log('${checkpoint.getCanonicalPath}')")

  private def clocks(checkpoint: File): Seq[Row] = {
    def clock(column: String) = date_format(col(column), "HH:mm")
    log(checkpoint)
      .orderBy("batch", "key", "split")
      .select($"batch", $"key", $"split", clock("clock"), clock("watermark"), $"idle", $"held_by_split")
      .collect()
      .toSeq
  }

  private def run(checkpoint: File): Unit = {
    val inputs = new Inputs
    new Recorder("append", checkpoint).run(union(inputs.plain, inputs.b))(
      inputs.step(1 -> "10:00", 2 -> "11:00")(7 -> "12:00"),
      inputs.step(1 -> "10:30")())
  }

  test("tidemark_log returns one row per batch and split, and one per batch for an input without splits") {
    withTempDir { checkpoint =>
      run(checkpoint)
      val all = clocks(checkpoint)
      def of(batch: Long) = all.filter(_.getLong(0) == batch)
      assert(of(0) === Seq(
        Row(0L, "a", "0", "11:00", "10:00", false, "1"),
        Row(0L, "a", "1", "10:00", "10:00", false, "1"),
        Row(0L, "tb", null, "12:00", "12:00", false, null)))
      // This is the first batch that read the second step.
      val next = all.find(_.getString(3) == "10:30").get.getLong(0)
      assert(of(next) === Seq(
        Row(next, "a", "0", "11:00", "10:30", false, "1"),
        Row(next, "a", "1", "10:30", "10:30", false, "1"),
        Row(next, "tb", null, "12:00", "12:00", false, null)))
      // Reading does not change the log.
      assert(clocks(checkpoint) === all)
    }
  }

  test("tidemark_log of a running query returns all batches before the current one") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      var read = Seq.empty[(Seq[Long], Seq[Long])]
      recorder.atSink = () =>
        if (new File(checkpoint, "tidemark").exists())
          read :+= batchesIn(checkpoint, "commits") -> clocks(checkpoint).map(_.getLong(0)).distinct
      recorder.run(union(inputs.plain, inputs.b))(inputs.wandering: _*)
      assert(read.size >= 5)
      for ((done, logged) <- read) assert(logged === done)
    }
  }

  test("tidemark_log shows when a batch began, and which splits were idle in it") {
    withTempDir { checkpoint =>
      val query = new ManySplits(1, idleAfter = Some(30000L))
      val entries = new EntryWriter(new Path(checkpoint.toURI), new Configuration, 10)
      entries.write(query.next(Seq(1, 2)))
      entries.write(Iterator.continually(query.next(Seq(1))).dropWhile(_.origins.values.forall(_.splits.idle ==
        0)).next())
      val rows = log(checkpoint).where("key = 'readings'").orderBy("batch", "split")
      assert(rows.select("split", "idle", "held_by_split").collect().toSeq === Seq(
        Row("device-1", false, "device-1"),
        Row("device-2", false, "device-1"),
        Row("device-1", false, "device-1"),
        Row("device-2", true, "device-1")))
      assert(rows.select(unix_millis($"time")).as[Long].collect().last === query.entry.timestampMillis)
    }
  }

  test("tidemark_log returns all splits even for entries that hold only changes") {
    withTempDir { checkpoint =>
      val many = EntryCodec.MostWhole + 10
      val inputs = new Inputs
      val split = withWatermark(inputs.plain, "ta", "0 seconds", WatermarkOptions(splitBy = SplitBy($"a")))
      new Recorder("append", checkpoint).run(counted(split, "ta"))(
        inputs.step((0 until many).map(_ -> "10:00"): _*)(),
        inputs.step(5 -> "10:30", 6 -> "10:30")())
      assert(new File(checkpoint, "tidemark").list.exists(_.endsWith(".changes")))
      val perBatch = log(checkpoint).groupBy("batch").agg(count("*"), count_if(date_format($"clock", "mm") === "30"))
      val counts = perBatch.orderBy("batch").collect().map(r => r.getLong(1) -> r.getLong(2)).toSeq
      assert(counts.forall(_._1 == many))
      assert(counts.map(_._2).distinct === Seq(0L, 2L))
    }
  }

  test("tidemark_log skips an entry that is being written, and refuses any other damaged entry") {
    withTempDir { checkpoint =>
      run(checkpoint)
      val batches = batchesIn(checkpoint, "tidemark")
      def cut(batch: Long) = {
        val file = entryFile(checkpoint, batch)
        write(file, Files.readAllBytes(file.toPath).take(40))
      }
      cut(batches.last)
      assertRefused("CHECKPOINT_ENTRY_DAMAGED")(clocks(checkpoint))
      // Until Spark commits its batch, the query may still be writing the entry.
      forget(checkpoint, "commits", batches.last)
      assert(clocks(checkpoint).map(_.getLong(0)).distinct === batches.init)
      // Tidemark was stopped while it wrote entry 0, and Spark alone has finished the batch.
      write(entryFile(checkpoint, 0L), Array.empty)
      assert(clocks(checkpoint).map(_.getLong(0)).distinct === batches.init.tail)
      cut(1L)
      assertRefused("CHECKPOINT_ENTRY_DAMAGED")(clocks(checkpoint))
    }
  }

  test("tidemark_log refuses a folder without a log, and does not change it") {
    withTempDir { checkpoint =>
      assertRefused("NO_LOG", "checkpoint" -> checkpoint.getCanonicalPath)(log(checkpoint))
      assert(checkpoint.list.isEmpty)
    }
  }

  test("tidemark_log distinguishes a null split from a split named null") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val device = when($"a" === 1, lit("null")).when($"a" === 2, lit("\"null\"")).when($"a" === 3, lit("x"))
      val split = withWatermark(inputs.plain, "ta", "0 seconds", WatermarkOptions(splitBy = SplitBy(device)))
      new Recorder("append", checkpoint).run(counted(split, "ta"))(
        inputs.step((1 to 4).map(_ -> "10:00"): _*)())
      val names = log(checkpoint).where("batch = 0").select("split").as[String].collect().toSet
      assert(names === Set("null", "\"null\"", "\"\"null\"\"", "x"))
    }
  }

  test("tidemark_log lists its folder once, however many batches there are") {
    withTempDir { checkpoint =>
      run(checkpoint)
      keptBy(classOf[CountedListings]) {
        CountedListings.of.set(0)
        assert(clocks(checkpoint).map(_.getLong(0)).distinct.size > 2)
        assert(CountedListings.of.get === 1)
      }
    }
  }

  test("tidemark_log refuses an invalid path with a clear error") {
    for (place <- Seq("", " ", "no:such:place", "nosuchscheme://x/y"))
      assertRefused("NO_LOG", "checkpoint" -> place)(spark.sql(s"SELECT * FROM tidemark_log('$place')"))
  }

  test("tidemark_log accepts exactly one argument, a constant string") {
    def log(arguments: String) = spark.sql(s"SELECT * FROM tidemark_log($arguments)")
    for ((arguments, count) <- Seq("" -> 0, "'a', 'b'" -> 2, "7" -> 1, "null" -> 1))
      assertRefused("WRONG_ARGUMENTS", "function" -> "tidemark_log", "arguments" -> s"$count")(log(arguments))
    intercept[AnalysisException](log("upper(id)"))
  }
}

/** Counts how often the watermark entries are listed. */
final class CountedListings(path: Path, conf: Configuration)
    extends FileContextBasedCheckpointFileManager(path, conf) {
  override def list(folder: Path, filter: PathFilter): Array[FileStatus] = {
    if (folder.getName == EntryFiles.Folder) CountedListings.of.incrementAndGet()
    super.list(folder, filter)
  }
}

object CountedListings {
  val of = new AtomicInteger
}
