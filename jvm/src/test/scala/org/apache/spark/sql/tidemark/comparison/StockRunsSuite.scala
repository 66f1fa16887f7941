package org.apache.spark.sql.tidemark.comparison

import scala.annotation.nowarn

import io.tidemark.MoreSuite

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.{BatchRun, StockComparison}
import org.apache.spark.sql.tidemark.support.Histories._

/** Stock stays stock: runs that end by themselves, one after the other on one checkpoint. */
class StockRunsSuite extends StockComparison with MoreSuite {
  import testImplicits._

  // One run has no new rows.
  private val history = wandering(9, steps = 6).patch(3, Seq(Nil), 0)

  private def runs(mode: String, trigger: Trigger, query: DataFrame => DataFrame): Seq[BatchRun] = {
    val stream = MemoryStream[Event]
    var batches = Seq.empty[BatchRun]
    withTempDir { checkpoint =>
      val recorder = new Recorder(mode, checkpoint)
      for (events <- history) {
        if (events.nonEmpty) stream.addData(events)
        recorder.run(query(timed(stream).withWatermark("t", Delay)), trigger)()
      }
      batches = recorder.batches
    }
    batches
  }

  // Trigger.Once is deprecated, but still there.
  @nowarn("cat=deprecation")
  private val once = Trigger.Once()

  private val queries = Seq[(String, String, DataFrame => DataFrame)](
    ("windows", "append", _.groupBy(window($"t", "10 minutes")).count()),
    ("windows", "update", _.groupBy(window($"t", "10 minutes"), $"id").count()),
    ("deduplication", "append", _.dropDuplicates("id", "t")))

  for ((name, trigger) <- Seq("Once" -> once, "AvailableNow" -> Trigger.AvailableNow()); (what, mode, query) <- queries)
    test(s"stock Spark and Tidemark agree on $what in $mode mode with Trigger.$name") {
      val expected = stock(runs(mode, trigger, query))
      assert(expected.flatMap(_.eventTime.get("watermark")).distinct.size > 4)
      assert(expected.exists(_.rows.nonEmpty) && expected.exists(_.operators.exists(_.late > 0)))
      assertSameBatches(runs(mode, trigger, query), expected)
    }
}
