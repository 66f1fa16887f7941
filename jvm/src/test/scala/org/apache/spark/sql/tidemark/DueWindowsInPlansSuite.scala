package org.apache.spark.sql.tidemark

import io.tidemark.functions.isLate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.Histories._

/** Windows that are due, beside other operators and over restarts. */
class DueWindowsInPlansSuite extends StockComparison {
  import testImplicits._

  private val history = wandering(4, steps = 6)

  /** Runs one after the other on one checkpoint; each takes its part of the history, with its settings and its query. */
  private def runs(parts: (Seq[(String, String)], History, DataFrame => DataFrame)*): Seq[BatchRun] = {
    val stream = MemoryStream[Event]
    var batches = Seq.empty[BatchRun]
    withTempDir { checkpoint =>
      val recorder = new Recorder("append", checkpoint)
      for ((conf, steps, query) <- parts)
        withSQLConf(conf: _*) {
          recorder.run(query(timed(stream).withWatermark("t", Delay)))(steps.map(events =>
            () => {
              stream.addData(events)
              ()
            }): _*)
        }
      batches = recorder.batches
    }
    batches
  }

  private def by(size: String)(events: DataFrame): DataFrame =
    events.groupBy(window($"t", size)).count().select($"window.start", $"window.end", $"count")

  private val stockOnly = Seq("spark.tidemark.enabled" -> "false")
  private val noNoDataBatches = Seq("spark.sql.streaming.noDataMicroBatches.enabled" -> "false")
  private def grain(value: String) = Seq("spark.tidemark.grain" -> value)

  private def onStock(parts: (Seq[(String, String)], History, DataFrame => DataFrame)*): Seq[BatchRun] =
    runs(parts.map { case (conf, steps, query) =>
      (conf.filterNot(_._1.endsWith("grain")) ++ stockOnly, steps, query)
    }: _*)

  test("windows that stock Spark has left overdue are emitted in the first batch of a run, once") {
    val (before, after) = history.splitAt(3)
    val left = (stockOnly ++ noNoDataBatches, before, by("10 minutes") _)
    val found = runs(left, (Nil, after, by("10 minutes") _))
    assertSameBatches(found, onStock(left, (Nil, after, by("10 minutes") _)))
    assert(rows(found).distinct.size === rows(found).size && rows(found).nonEmpty)
  }

  test("the setting may change at each restart") {
    val parts = history.zipWithIndex.map { case (step, run) =>
      (grain(if (run % 2 == 0) "on" else "off"), Seq(step), by("25 minutes") _)
    }
    assertSameBatches(runs(parts: _*), onStock(parts: _*))
  }

  test("windows of another size, from an earlier run, are emitted as soon as they have ended") {
    val inOrder = Seq.tabulate(8, 5)((step, row) => (row, Option(Noon.getEpochSecond + step * 660L + row * 120L)))
    val parts = Seq((Nil, inOrder.take(3), by("7 minutes") _), (Nil, inOrder.drop(3), by("1 hour") _))
    val expected = onStock(parts: _*)
    assert(rows(expected).nonEmpty)
    assertSameBatches(runs(parts: _*), expected)
  }

  /** Runs a query over two streams; the second stream has no watermark of its own. */
  private def two(query: (DataFrame, DataFrame) => DataFrame): Seq[BatchRun] = {
    val (first, second) = (MemoryStream[Event], MemoryStream[Event])
    val steps = history.zip(wandering(8, steps = 6)).zipWithIndex.map { case ((one, other), step) =>
      () => {
        // Each stream is silent now and then.
        if (step % 3 != 2) first.addData(one)
        if (step % 2 == 1) second.addData(other)
        ()
      }
    }
    record("append", query(timed(first).withWatermark("t", Delay), timed(second)), steps)
  }

  test("windows of an input that Spark leaves out of a batch, while it is empty, are emitted when they end") {
    def query(first: DataFrame, second: DataFrame) =
      first.select(window($"t", "1 hour").as("w")).union(second.select(window($"t", "4 minutes").as("w")))
        .groupBy("w").count()
    val expected = stock(two(query))
    assert(rows(expected).nonEmpty)
    assertSameBatches(two(query), expected)
  }

  test("a join without a bound in time, below windows, drops the same late rows") {
    def query(first: DataFrame, second: DataFrame) =
      first.join(second.withColumnRenamed("t", "u").withWatermark("u", Delay), "id")
        .groupBy(window($"t", "30 minutes")).count()
    val expected = stock(two(query))
    assert(expected.exists(_.operators.exists(_.late > 0)))
    assert(rows(two(query)) === rows({
      var off = Seq.empty[BatchRun]
      withSQLConf(grain("off"): _*) { off = two(query) }
      off
    }))
  }

  test("where a query reads its watermark, each advance brings a no-data batch") {
    def query(events: DataFrame) = events.where(!isLate($"t")).groupBy(window($"t", "30 minutes")).count()
    val on = run("append", history, query)
    withSQLConf(grain("off"): _*) { assert(run("append", history, query) === on) }
    assert(rows(on).nonEmpty)
  }
}
