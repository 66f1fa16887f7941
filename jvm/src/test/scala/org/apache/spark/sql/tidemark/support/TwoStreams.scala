package org.apache.spark.sql.tidemark.support

import java.io.File
import java.nio.file.Files

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.core.OriginName
import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.plan.Decision
import io.tidemark.functions.withWatermark

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.Histories._

/** Queries over two streams, and a look into their checkpoints. */
trait TwoStreams extends RecordedRuns {
  import testImplicits._

  /** Two streams; every data frame of them is a new one, as after a restart. */
  protected final class Inputs {
    private val left = MemoryStream[Event]
    private val right = MemoryStream[Event]

    def a: DataFrame = plain(left, "a").withWatermark("ta", "0 seconds")
    def b: DataFrame = plain(right, "b").withWatermark("tb", "0 seconds")

    /** The first one, without a watermark. */
    def plain: DataFrame = plain(left, "a")

    /** Brings ids and clock times (`10:20`) to both streams. */
    def step(toA: (Int, String)*)(toB: (Int, String)*): Step = () => {
      def events(rows: Seq[(Int, String)]) = rows.map { case (id, time) => (id, Option(millis(time) / 1000)) }
      if (toA.nonEmpty) left.addData(events(toA))
      if (toB.nonEmpty) right.addData(events(toB))
      ()
    }

    /** Five steps, in each of which one stream or both bring something, some of it late. */
    val wandering: Seq[Step] = {
      val (toA, toB) = (Histories.wandering(21, steps = 5), Histories.wandering(22, steps = 5, rows = 4))
      Seq(0 -> 0, 1 -> 1, 2 -> 1, 3 -> 2, 4 -> 4).zip(Seq("ab", "a", "b", "ab", "ab")).map { case ((i, j), to) =>
        () => {
          if (to.contains('a')) left.addData(toA(i))
          if (to.contains('b')) right.addData(toB(j))
          ()
        }
      }
    }

    private def plain(stream: MemoryStream[Event], name: String): DataFrame =
      stream.toDF().toDF(name, "seconds").select(col(name), timestamp_seconds($"seconds").as(s"t$name"))
  }

  protected type Query = (DataFrame, DataFrame) => DataFrame

  protected def counted(df: DataFrame, time: String): DataFrame =
    df.groupBy(window(col(time), "10 minutes").as("w"))
      .count()
      .select(lit(time).as("of"), date_format($"w.start", "HH:mm").as("start"), $"count")

  private def near = expr("a = b AND tb >= ta - INTERVAL 15 MINUTES AND tb <= ta + INTERVAL 15 MINUTES")

  protected val unionOfCounts: Query = (a, b) => counted(a, "ta").union(counted(b, "tb"))

  protected val outerJoinAndCounts: Query = (a, b) => counted(a.join(b, near, "left_outer"), "ta")

  protected val carriedColumn: Query = (a, b) =>
    a.join(b, near)
      .groupBy(window($"ta", "5 minutes").as("wa"), $"tb")
      .count()
      .groupBy(window($"tb", "10 minutes").as("wb"))
      .agg(sum("count"))
      .select(date_format($"wb.start", "HH:mm"), $"sum(count)")

  protected val redefinition: Query = (a, b) =>
    counted(a.join(b, near).select(greatest($"ta", $"tb").as("t")).withWatermark("t", "5 minutes"), "t")

  protected val splitInput: Query = (a, _) =>
    counted(withWatermark(a, "ta", "0 seconds", WatermarkOptions(splitBy = SplitBy($"a" % 3))), "ta")

  /** An entry without the times at which its batch has ended, which its reason names too: they are others when the batch is
    * run again.
    */
  protected def timeless(entry: WatermarkEntry): (WatermarkEntry, Decision, Map[OriginName, Option[Long]]) = (
    entry.copy(endMillis = 0L, origins = Map.empty, reason = None),
    entry.standing,
    entry.origins.map { case (name, state) => name -> state.maxEventTimeMillis })

  protected def write(file: File, bytes: Array[Byte]): Unit = {
    // The checksum that Hadoop keeps beside the file would only hide what is tested.
    Files.deleteIfExists(new File(file.getParentFile, s".${file.getName}.crc").toPath)
    Files.write(file.toPath, bytes)
    ()
  }

  /** What each origin had reached when the last batch ended. */
  protected def watermarks(recorder: Recorder): Map[String, Option[Long]] = {
    val last = entry(recorder.checkpoint, recorder.batches.last.id)
    last.origins.map { case (name, state) => name.toString -> state.watermark.millis }
  }

  /** What has come out since. */
  protected def newRows(recorder: Recorder)(run: => Unit): Seq[String] = {
    val before = recorder.batches.size
    run
    rows(recorder.batches.drop(before))
  }

  /** How many rows were late, as Spark counts them. */
  protected def late(recorder: Recorder): Long = recorder.batches.flatMap(_.operators).map(_.late).sum

  /** The path that a parameter of an error names, perhaps with its scheme. */
  protected def pathOf(file: String): String = new Path(file).toUri.getPath

  /** Names of the entries of a log of the checkpoint (`offsets`, `commits`, `tidemark`): all there is but checksums and
    * temporary files.
    */
  protected def batchesIn(checkpoint: File, log: String): Seq[Long] =
    new File(checkpoint, log).list().toSeq.filterNot(_.startsWith(".")).map(_.toLong).sorted

  /** As if the query had been killed before this entry was written. */
  protected def forget(checkpoint: File, log: String, batch: Long): Unit = forget(checkpoint, log, batch.toString)

  protected def forget(checkpoint: File, log: String, file: String): Unit =
    for (name <- Seq(file, s".$file.crc")) Files.deleteIfExists(new File(checkpoint, s"$log/$name").toPath)

  /** As if the query had been killed while it wrote this batch's entry. */
  protected def cutEntry(checkpoint: File, batch: Long): Unit = {
    val whole = Files.readAllBytes(entryFile(checkpoint, batch).toPath)
    forget(checkpoint, "commits", batch)
    forget(checkpoint, "tidemark", batch)
    write(entryFile(checkpoint, batch), whole.take(whole.length / 2))
  }
}
