package org.apache.spark.sql.tidemark.exec.eviction

import java.time.Instant

import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.support.Histories._
import org.apache.spark.sql.tidemark.support.StockComparison

/** The state of windows is scanned, and a no-data batch runs, only if a window may have ended. */
class DueWindowsSuite extends StockComparison {
  import testImplicits._

  private def hourly(events: DataFrame): DataFrame =
    events.groupBy(window($"t", "1 hour")).count().select(date_format($"window.end", "HH:mm"), $"count")

  /** Whether each batch so far has skipped the scan of the last operator's state. */
  private def skipped(expected: Boolean*) = Execute { (query: StreamExecution) =>
    val batches = query.recentProgress.filter(_.stateOperators.nonEmpty).map { batch =>
      batch.batchId -> (batch.stateOperators.head.customMetrics.get(SkipsScans.Metric) == 1L)
    }
    assert(batches.toSeq.distinct === expected.zipWithIndex.map { case (skip, batch) => batch.toLong -> skip })
  }

  /** What the report says of the last operator's scans, and of the next window. */
  private def reported(skippedScans: Long, next: String) = Execute { (query: StreamExecution) =>
    val plan = new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get).get("plan")
    assert(plan.findValue("skipped_scans").asLong === skippedScans)
    assert(plan.findValue("next_due_ms").asLong === millis(next))
  }

  private val rocksDb = SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName

  for (store <- Seq("HDFS", "RocksDB"))
    test(s"neither a state scan nor a no-data batch runs until a window ends, with the $store state store") {
      withSQLConf((if (store == "HDFS") Nil else Seq(rocksDb)): _*) {
        val (stream, df) = timed("t", "0 seconds")
        val toTheFirstWatermark = Seq(false, false)
        testStream(hourly(df))(
          AddData(stream, 1 -> at("10:00")),
          CheckNewAnswer(),
          skipped(toTheFirstWatermark: _*),
          AddData(stream, 1 -> at("10:30")),
          CheckNewAnswer(),
          AddData(stream, 1 -> at("10:59")),
          CheckNewAnswer(),
          skipped(toTheFirstWatermark ++ Seq(true, true): _*),
          AddData(stream, 1 -> at("11:00")),
          CheckNewAnswer("11:00" -> 3L),
          skipped(toTheFirstWatermark ++ Seq(true, true, true, false): _*),
          AddData(stream, 1 -> at("10:59"), 1 -> at("11:59")),
          CheckNewAnswer(),
          skipped(toTheFirstWatermark ++ Seq(true, true, true, false, true): _*),
          reported(skippedScans = 4, next = "12:00"))
      }
    }

  test("the plan shows when the next window is due") {
    val (stream, df) = timed("t", "0 seconds")
    def plan(words: String) = Execute { query =>
      assert(query.lastExecution.executedPlan.toString.contains(words))
    }
    testStream(hourly(df))(
      AddData(stream, 1 -> at("10:00")),
      CheckNewAnswer(),
      plan("next window due at 2024-03-01T11:00:00Z"),
      AddData(stream, 1 -> at("10:30")),
      CheckNewAnswer(),
      plan("no window due until 2024-03-01T11:00:00Z"))
  }

  test("the plan of a batch without a watermark names no time at which a window is due") {
    withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> "false") {
      val (stream, df) = timed("t", "0 seconds")
      testStream(hourly(df))(
        AddData(stream, 1 -> at("10:00")),
        CheckNewAnswer(),
        Execute { query =>
          val plan = query.lastExecution.executedPlan.toString
          assert(plan.contains("next window due: unknown, no watermark yet"))
          assert(!plan.contains("1970"))
        })
    }
  }

  /** Runs a query with the setting on, with it off, and on stock Spark. Batches that do something must be the same. */
  private def same(name: String, mode: String = "append", history: History = wandering(1), saves: Boolean = true)(
      query: DataFrame => DataFrame): Unit =
    test(s"$name are emitted in the same batches as on stock Spark, in $mode mode") {
      val off = withScans("false")(run(mode, history, query))
      val on = run(mode, history, query)
      assertSameBatches(on, off)
      assertSameBatches(on, stock(run(mode, history, query)))
      assert(on.exists(_.rows.nonEmpty))
      if (saves) assert(on.size < off.size) else assert(on.size === off.size)
    }

  private def withScans[A](onlyWhenDue: String)(body: => A): A = {
    var result = Option.empty[A]
    withSQLConf("spark.tidemark.scanOnlyWhenDue" -> onlyWhenDue) { result = Some(body) }
    result.get
  }

  for (mode <- Seq("append", "update")) {
    moreTestsIf(mode == "update") {
      same("hourly windows", mode)(_.groupBy(window($"t", "1 hour"), $"id").count())
      same("overlapping windows", mode)(_.groupBy(window($"t", "1 hour", "25 minutes", "7 minutes")).agg(sum("id")))
    }
    moreTests {
      same("windows with another name", mode)(
        _.select($"id", window($"t", "1 hour").as("hour")).select($"hour".as("h"), $"id").groupBy("h").count())
      same("windows before 1970", mode, wandering(1, Instant.parse("1970-01-01T00:10:00Z")))(
        _.groupBy(window($"t", "20 minutes")).count())
    }
  }

  moreTests {
    same("windows after deduplication", saves = false)(
      _.dropDuplicates("id", "t").groupBy(window($"t", "1 hour")).count())
    same("windows that do not end on a whole millisecond")(
      _.groupBy(window($"t", "1800 seconds 1 microsecond", "900 seconds")).count())
    same("windows of windows")(
      _.groupBy(window($"t", "20 minutes"), $"id").count().groupBy(window($"window", "1 hour")).agg(sum("count")))
    same("hourly windows of half-hour windows") { events =>
      val halves = events.groupBy(window($"t", "30 minutes").as("w")).agg(max("id").as("most"))
      halves.groupBy(window($"w", "1 hour").as("w")).agg(max("most")).select($"w.end", lit(1))
    }
    same("groups by a time without a window", saves = false)(_.groupBy($"t").count())
  }

  private def ofRandomSizes =
    "of random sizes, slides and starts are emitted in the same batches, scanOnlyWhenDue true or false, and as on stock Spark"
  testMore(s"two windows $ofRandomSizes")(compareRandom(seed = 5, many = 2))
  testMore(s"twelve windows $ofRandomSizes")(compareRandom(seed = 6, many = 12))

  private def compareRandom(seed: Int, many: Int): Unit = {
    val random = new Random(seed)
    def upTo(most: Long) = math.floorMod(random.nextLong(), most)
    for (_ <- 1 to many) {
      val size = 1 + upTo(2400000000L)
      val slide = 1 + upTo(size)
      val start = upTo(slide)
      val (mode, seed) = (Seq("append", "update")(random.nextInt(2)), random.nextInt(100))
      val store = if (random.nextBoolean()) Nil else Seq(rocksDb)
      // Few windows overlap, so that the state stays small.
      val windows = if (size / slide > 20) window($"t", s"$size microseconds")
      else window($"t", s"$size microseconds", s"$slide microseconds", s"$start microseconds")
      def batches = run(mode, wandering(seed), _.groupBy(windows).count())
      withClue(
        s"size $size µs, slide $slide, start $start, $mode, history $seed, ${store.size} settings of the store: ") {
        withSQLConf(store: _*) {
          val on = batches
          assertSameBatches(on, withScans("false")(batches))
          assertSameBatches(on, stock(batches))
        }
      }
    }
  }
}
