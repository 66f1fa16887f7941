package org.apache.spark.sql.tidemark.comparison

import java.io.File
import java.sql.Timestamp

import scala.collection.mutable
import scala.util.Random

import io.tidemark.{Noted, NoteTimeOptions, WatermarkOptions}
import io.tidemark.functions.{noteTime, withWatermark}

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.support.{FuzzNumber, WatermarkTest}

/** One query is two queries. A plan is cut: the left part notes its time, and the right part uses it. Together they emit
  * what the whole plan emits, and no row is late on the right. `make fuzz CUTS=1000` cuts more plans.
  */
class TwoQueriesSuite extends WatermarkTest {
  import TwoQueriesSuite._
  import testImplicits._

  private val seed = FuzzNumber("seed", 1)
  private val cuts = FuzzNumber("cuts", 120)

  // One task for a batch's few rows, and all of its progress: it has the late rows.
  override protected def sparkConf: SparkConf = super.sparkConf
    .set(SQLConf.SHUFFLE_PARTITIONS.key, "1")
    .set(SQLConf.STREAMING_PROGRESS_RETENTION.key, "100000")

  for ((name, left) <- lefts) {
    val title = s"$name: the second query emits what one query for all emits"
    moreTestsIf(name != "an aggregation")(test(title)(compare(left, seed, 2)))
    testMore(s"$title, in more histories") {
      val each = cuts / lefts.size
      for (from <- 0 until each by AtOnce) compare(left, seed + 1 + from, math.min(AtOnce, each - from))
    }
  }

  private lazy val lefts: Seq[(String, Left)] = {
    val plain = Seq("time", "id", "n")
    Seq(
      "a filter" -> Left((in, _) => (in.head.where($"id" =!= 1), "time", plain), mayBeLate = false),
      "a union" -> Left((in, _) => (in.head.union(in(1)), "time", plain), mayBeLate = false),
      "a deduplication" -> Left((in, _) => (in.head.dropDuplicates("time", "id"), "time", plain), mayBeLate = true),
      "an aggregation" -> Left(
        (in, random) => {
          val size = pick(random, "7 minutes", "15 minutes", "1 hour")
          val counts = in.head.groupBy(window($"time", size), $"id").agg(sum("n").as("n"))
          (counts, "window", Seq("window_time(window) AS time", "id", "n"))
        },
        mayBeLate = true),
      "sessions" -> Left(
        (in, random) => {
          val gap = pick(random, "3 minutes", "10 minutes")
          val counts = in.head.groupBy(session_window($"time", gap).as("window"), $"id").agg(sum("n").as("n"))
          (counts, "window", Seq("window_time(window) AS time", "id", "n"))
        },
        mayBeLate = true),
      "an outer join" -> Left(
        (in, _) => {
          val right = in(1).toDF("other", "key", "m")
          val joined = in.head.join(
            right,
            $"id" === $"key" && $"other".between($"time" - expr("INTERVAL 5 MINUTES"), $"time"),
            "leftOuter")
          (joined, "time", Seq("time", "id", "n + coalesce(m, 0) AS n"))
        },
        mayBeLate = true))
  }

  private def pick[A](random: Random, of: A*): A = of(random.nextInt(of.size))

  /** Cuts a plan, and sends it several histories, a day apart: queries that start are what takes time. */
  private def compare(left: Left, seed: Int, histories: Int): Unit = withTempDir { folder =>
    val random = new Random(seed)
    val delay = 1 + random.nextInt(10)
    val planSeed = random.nextInt()
    val (ofWhole, ofFirst) = (Seq.fill(2)(MemoryStream[Reading]), Seq.fill(2)(MemoryStream[Reading]))
    def cut(in: Seq[MemoryStream[Reading]]) =
      left.of(in.map(_.toDF().toDF("time", "id", "n").withWatermark("time", s"$delay minutes")), new Random(planSeed))
    val size = pick(random, "10 minutes", "1 hour")
    def right(rows: DataFrame) = rows.groupBy(window($"time", size)).agg(sum("n").as("n"), count("*").as("rows"))
      .select($"window.start", $"n", $"rows")

    val whole =
      new Running(folder, "whole", () => { val (df, _, columns) = cut(ofWhole); right(df.selectExpr(columns: _*)) })
    val first = new Running(
      folder,
      "first",
      () => {
        val (df, noted, columns) = cut(ofFirst)
        noteTime(df, noted, NoteTimeOptions(new File(folder, "log").getPath)).selectExpr(columns: _*)
      },
      Some(new File(folder, "between")))
    new File(folder, "between").mkdirs()
    val filesAtOnce = 1 + random.nextInt(3)
    val second = new Running(
      folder,
      "second",
      () => {
        val rows = spark.readStream.schema("time TIMESTAMP, id INT, n LONG").option("maxFilesPerTrigger", filesAtOnce)
          .parquet(new File(folder, "between").getPath)
        val noted = Noted(new File(folder, "log").getPath)
        right(withWatermark(rows, "time", "0 seconds", WatermarkOptions(noted = Some(noted))))
      })
    // The whole works while the first does.
    val all = Seq(first, second, whole)
    try {
      for (day <- 0 until histories) {
        var now = 600 + day * Day
        for (_ <- 0 to random.nextInt(3)) {
          now += random.nextInt(25)
          for (input <- 0 until 2) {
            val reach = if (left.mayBeLate) 20 else delay
            val rows = Seq.fill(random.nextInt(6))(reading(now - random.nextInt(reach), random.nextInt(3)))
            Seq(ofWhole, ofFirst).foreach(_(input).addData(rows))
          }
          if (random.nextInt(6) == 0) pick(random, first, second).stop()
          all.foreach(_.run())
        }
      }
      for (later <- 0 to 1) {
        for (input <- 0 until 2) Seq(ofWhole, ofFirst).foreach(_(input).addData(reading((histories + later) * Day, 0)))
        all.foreach(_.run())
      }
      val end = reading(histories * Day, 0)._1
      def rowsOf(query: Running) = query.rows.filter(_.getTimestamp(0).before(end)).map(_.toString).toSeq.sorted
      withClue(s"seed $seed, delay $delay minutes: ") {
        assert(rowsOf(second) == rowsOf(whole))
        assert(rowsOf(whole).nonEmpty)
        assert(second.late == 0)
      }
    } finally all.foreach(_.stop())
  }

  /** A query that goes on from where it was when it is run again. */
  private final class Running(folder: File, name: String, df: () => DataFrame, out: Option[File] = None) {
    val rows: mutable.Buffer[Row] = mutable.Buffer.empty
    private var query = Option.empty[StreamingQuery]
    private var lateBefore = 0L

    def run(): Unit = {
      if (query.isEmpty) {
        val writer = df().writeStream.option("checkpointLocation", new File(folder, s"$name-checkpoint").getPath)
        query = Some(out match {
          case Some(path) => writer.format("parquet").start(path.getPath)
          case None => writer.foreachBatch((batch: Dataset[Row], _: Long) => { rows ++= batch.collect(); () }).start()
        })
      }
      query.get.processAllAvailable()
    }

    def late: Long =
      lateBefore + query.toSeq.flatMap(_.recentProgress).flatMap(_.stateOperators).map(_.numRowsDroppedByWatermark).sum

    def stop(): Unit = {
      lateBefore = late
      query.foreach(_.stop())
      query = None
    }
  }
}

object TwoQueriesSuite {
  private val AtOnce = 25
  private val Day = 1440

  /** Rows with `time`, `id` and `n`, and the column whose time is noted before they are selected. */
  private final case class Left(of: (Seq[DataFrame], Random) => (DataFrame, String, Seq[String]), mayBeLate: Boolean)

  type Reading = (Timestamp, Int, Long)

  /** @param minute of a day in March */
  private def reading(minute: Int, id: Int): Reading = (new Timestamp(1709251200000L + minute * 60000L), id, 1L)
}
