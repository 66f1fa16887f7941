package org.apache.spark.sql.tidemark.exec.eviction

import io.tidemark.functions.isLate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{BatchRun, StockComparison}
import org.apache.spark.sql.tidemark.support.Histories._

/** Due windows beside other operators and across restarts. */
class DueWindowsInPlansSuite extends StockComparison {
  import testImplicits._

  private val history = wandering(4, steps = 6)

  private def by(size: String)(events: DataFrame): DataFrame =
    events.groupBy(window($"t", size)).count().select($"window.start", $"window.end", $"count")

  private val stockOnly = Seq("spark.tidemark.enabled" -> "false")
  private val noNoDataBatches = Seq("spark.sql.streaming.noDataMicroBatches.enabled" -> "false")
  private def onlyWhenDue(value: String) = Seq("spark.tidemark.scanOnlyWhenDue" -> value)

  private def onStock(parts: (Seq[(String, String)], History, DataFrame => DataFrame)*): Seq[BatchRun] =
    recordRuns(parts.map { case (conf, steps, query) =>
      (conf.filterNot(_._1.endsWith("scanOnlyWhenDue")) ++ stockOnly, steps, query)
    }: _*)

  test("windows that stock Spark has left overdue are emitted once, in the first batch of a run") {
    val (before, after) = history.splitAt(3)
    val left = (stockOnly ++ noNoDataBatches, before, by("10 minutes") _)
    val found = recordRuns(left, (Nil, after, by("10 minutes") _))
    assertSameBatches(found, onStock(left, (Nil, after, by("10 minutes") _)))
    assert(rows(found).distinct.size === rows(found).size && rows(found).nonEmpty)
  }

  testMore("spark.tidemark.scanOnlyWhenDue may change at each restart") {
    val parts = history.zipWithIndex.map { case (step, run) =>
      (onlyWhenDue(if (run % 2 == 0) "true" else "false"), Seq(step), by("25 minutes") _)
    }
    assertSameBatches(recordRuns(parts: _*), onStock(parts: _*))
  }

  testMore("windows that a run on stock Spark has changed are emitted once after the return to Tidemark") {
    val parts = history.zipWithIndex.map { case (step, run) =>
      (if (run % 3 == 1) stockOnly else Nil, Seq(step), by("25 minutes") _)
    }
    assertSameBatches(recordRuns(parts: _*), onStock(parts: _*))
  }

  testMore("windows that no run has emitted for a day are emitted once, in the first batch of the next run") {
    val parts = Seq(
      (Nil, history.take(3), by("1 hour") _),
      (stockOnly ++ noNoDataBatches, Seq(Seq((1, Option(Noon.getEpochSecond + 86400)))), by("1 hour") _),
      (Nil, Seq(Seq((2, Option(Noon.getEpochSecond + 86460)))), by("1 hour") _))
    val (found, expected) = (recordRuns(parts: _*), onStock(parts: _*))
    assertSameBatches(found, expected)
    assert(found.last.rows.nonEmpty && rows(found).distinct === rows(found))
  }

  testMore("windows of another size from an earlier run are emitted when they end") {
    val inOrder = Seq.tabulate(8, 5)((step, row) => (row, Option(Noon.getEpochSecond + step * 660L + row * 120L)))
    val parts = Seq((Nil, inOrder.take(3), by("7 minutes") _), (Nil, inOrder.drop(3), by("1 hour") _))
    val expected = onStock(parts: _*)
    assert(rows(expected).nonEmpty)
    assertSameBatches(recordRuns(parts: _*), expected)
  }

  /** Runs a query over two streams; the second stream has no watermark of its own. */
  private def two(query: (DataFrame, DataFrame) => DataFrame): Seq[BatchRun] = {
    val (first, second) = (MemoryStream[Event], MemoryStream[Event])
    val steps = history.zip(wandering(8, steps = 6)).zipWithIndex.map { case ((firstRows, secondRows), step) =>
      () => {
        // Each stream has no rows in some steps.
        if (step % 3 != 2) first.addData(firstRows)
        if (step % 2 == 1) second.addData(secondRows)
        ()
      }
    }
    record("append", query(timed(first).withWatermark("t", Delay), timed(second)), steps)
  }

  test("windows are emitted when they end even if Spark omits their empty input from a batch") {
    def query(first: DataFrame, second: DataFrame) =
      first.select(window($"t", "1 hour").as("w")).union(second.select(window($"t", "4 minutes").as("w")))
        .groupBy("w").count()
    val expected = stock(two(query))
    assert(rows(expected).nonEmpty)
    assertSameBatches(two(query), expected)
  }

  testMore(
    "a join without a time bound below windows drops the same late rows for each value of spark.tidemark.scanOnlyWhenDue") {
    def query(first: DataFrame, second: DataFrame) =
      first.join(second.withColumnRenamed("t", "u").withWatermark("u", Delay), "id")
        .groupBy(window($"t", "30 minutes")).count()
    val expected = stock(two(query))
    assert(expected.exists(_.operators.exists(_.late > 0)))
    assert(rows(two(query)) === rows({
      var off = Seq.empty[BatchRun]
      withSQLConf(onlyWhenDue("false"): _*) { off = two(query) }
      off
    }))
  }

  testMore("a query that reads its watermark runs a no-data batch for each advance of the watermark") {
    def query(events: DataFrame) = events.where(!isLate($"t")).groupBy(window($"t", "30 minutes")).count()
    val on = run("append", history, query)
    withSQLConf(onlyWhenDue("false"): _*) { assert(run("append", history, query) === on) }
    assert(rows(on).nonEmpty)
  }
}
