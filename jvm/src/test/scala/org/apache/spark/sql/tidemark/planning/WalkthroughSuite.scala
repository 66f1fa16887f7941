package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{Input, OperatorId, Side}

import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.stream.SparkInternals
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** The walk-through of watermark propagation: impressions and clicks, an outer join, and an hourly count behind it. */
class WalkthroughSuite extends WatermarkTest {
  import testImplicits._

  private def query() = {
    val (impressions, left) = timed("impressionTime", "20 minutes", "ad")
    val (clicks, right) = timed("clickTime", "10 minutes", "clickAd")
    val joined = left
      .join(
        right,
        expr("ad = clickAd AND clickTime BETWEEN impressionTime AND impressionTime + INTERVAL 2 MINUTES"),
        "left_outer")
      .groupBy(window($"impressionTime", "1 hour"))
      .count()
      .select($"window.start".cast("string"), $"count")
    (impressions, clicks, joined)
  }

  // Spark has one watermark, the minimum of both inputs: 9:40 after the first batch, 10:40 after the second. The
  // aggregation's is that of the join less the 2 minutes and 1 ms for which impressions wait.
  test("in stock Spark, a join and the operators after it use one watermark") {
    withSQLConf("spark.tidemark.enabled" -> "false") {
      val (impressions, clicks, df) = query()
      testStream(df)(
        MultiAddData(clicks, 1 -> at("10:10"), 2 -> at("10:20"), 3 -> at("10:30"))(impressions, 1 -> at("10:00")),
        ProcessAllAvailable(),
        Execute(q => assert(q.lastProgress.eventTime.get("watermark").contains("09:40:00.000"))),
        goBy(join = millis("9:40"), aggregation = millis("9:38") - 1),
        MultiAddData(clicks, 4 -> at("11:01"), 5 -> at("11:03"), 6 -> at("11:04"))(impressions, 4 -> at("11:00")),
        ProcessAllAvailable(),
        goBy(join = millis("10:40"), aggregation = millis("10:38") - 1))
    }
  }

  // Spark numbers operators from the output.
  private val Aggregation = 0L
  private val Join = 1L

  /** The watermarks that Spark evicts state by. */
  private def goBy(join: Long, aggregation: Long) = Execute { query =>
    val propagator = SparkInternals.propagator(query.asInstanceOf[MicroBatchExecution])
    def of(operator: Long) = propagator.getInputWatermarkForEviction(query.lastExecution.currentBatchId, operator)
    assert((of(Join), of(Aggregation)) === (join, aggregation))
  }

  // Batch 1: impressions' newest is 10:00, so 10:00 - 20 min = 9:40; clicks' newest is 10:30, so 10:30 - 10 min = 10:20.
  //   An impression waits for clicks up to 2 minutes later; clicks up to 10:20 are in, so impressions up to
  //   10:20 - 2 min - 1 ms = 10:17:59.999 are closed. The join hands on min(own 9:40, closed 10:17:59.999) = 9:40, where
  //   stock says 9:37:59.999. A click matches impressions at or before it: clicks up to 9:40 - 1 ms are closed.
  // Batch 2: impressions 11:00 - 20 min = 10:40; clicks 11:04 - 10 min = 10:54, closed impressions 10:51:59.999; the join
  //   hands on 10:40.
  // Batch 3: impressions 11:30 - 20 min = 11:10; clicks 11:13 - 10 min = 11:03, closed impressions 11:00:59.999; the join
  //   hands on 11:00:59.999, and the hour from 10:00 is over: it had one impression.
  test("in Tidemark, each side of a join uses its own watermark") {
    val (impressions, clicks, df) = query()
    def sides(left: String, leftClosed: Long, right: String, rightClosed: Long, out: Long) = Execute { q =>
      val levels = watermarksOf(q).plannedBatch(q.lastExecution.currentBatchId).get.eviction
      def input(operator: Long, side: Side) = levels.inputs(Input(OperatorId(operator), side))
      assert(input(Join, Side.Left).input.watermark.millis === Some(millis(left)))
      assert(input(Join, Side.Left).evicted.get.watermark.millis === Some(leftClosed))
      assert(input(Join, Side.Right).input.watermark.millis === Some(millis(right)))
      assert(input(Join, Side.Right).evicted.get.watermark.millis === Some(rightClosed))
      assert(input(Aggregation, Side.Left).input.watermark.millis === Some(out))
    }
    testStream(df)(
      MultiAddData(clicks, 1 -> at("10:10"), 2 -> at("10:20"), 3 -> at("10:30"))(impressions, 1 -> at("10:00")),
      ProcessAllAvailable(),
      originsAre("impressionTime" -> Some(millis("9:40")), "clickTime" -> Some(millis("10:20"))),
      sides("9:40", millis("10:18") - 1, "10:20", millis("9:40") - 1, millis("9:40")),
      CheckAnswer(),
      MultiAddData(clicks, 4 -> at("11:01"), 5 -> at("11:03"), 6 -> at("11:04"))(impressions, 4 -> at("11:00")),
      ProcessAllAvailable(),
      originsAre("impressionTime" -> Some(millis("10:40")), "clickTime" -> Some(millis("10:54"))),
      sides("10:40", millis("10:52") - 1, "10:54", millis("10:40") - 1, millis("10:40")),
      CheckAnswer(),
      MultiAddData(clicks, 7 -> at("11:13"))(impressions, 7 -> at("11:30")),
      ProcessAllAvailable(),
      sides("11:10", millis("11:01") - 1, "11:03", millis("11:10") - 1, millis("11:01") - 1),
      CheckAnswer(("2024-03-01 10:00:00", 1L)))
  }
}
