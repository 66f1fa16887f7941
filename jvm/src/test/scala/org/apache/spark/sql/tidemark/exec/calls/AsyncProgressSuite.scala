package org.apache.spark.sql.tidemark.exec.calls

import scala.concurrent.{Future, Promise}

import io.tidemark.AsyncOptions
import io.tidemark.functions.mapAsync

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{AsyncCalls, AsyncTest}
import org.apache.spark.sql.types._

/** How many calls are in flight, and what the progress and the report have of them. */
class AsyncProgressSuite extends AsyncTest {
  import testImplicits._

  test("the most calls allowed are in flight, and no more") {
    AsyncCalls.reset(together = 8)
    val found = mapAsync(numbers(64), "same", n, LongType, AsyncOptions(concurrency = 8))(row =>
      AsyncCalls.together(row.getLong(0)))
    assert(found.count() === 64)
    assert(AsyncCalls.most.get === 8)
  }

  test("the report has the calls of the last batch that had any, and those of the run") {
    val stream = MemoryStream[(Int, java.sql.Timestamp)](1)
    val df = stream.toDF().toDF("n", "t").withWatermark("t", "0 seconds")
    val called = mapAsync(df, "same", n, IntegerType)(row => Future.successful(row.getInt(0)))
    val query = called.groupBy(window($"t", "1 hour"), $"same").count().writeStream.format("noop").start()
    try {
      for (batch <- Seq(Seq(1, 2, 3), Seq(4))) {
        stream.addData(batch.map(_ -> at("10:00")))
        query.processAllAvailable()
      }
      stream.addData(5 -> at("12:00"))
      query.processAllAvailable()
      val json = spark.sql(s"SELECT tidemark_report('${query.id}')").head().getString(0)
      val calls = new ObjectMapper().readTree(json).get("calls")
      assert(calls.size === 1)
      assert(calls.get(0).get("column").asText === "same")
      assert(calls.get(0).get("last").get("calls").asLong === 1)
      assert(calls.get(0).get("all").get("calls").asLong === 5)
      assert(calls.get(0).get("all").get("slowest").asText.startsWith("n="))
    } finally query.stop()
  }

  test("the progress of a batch says what its calls were, and names the slowest") {
    AsyncCalls.reset(together = 1)
    val options = AsyncOptions(
      concurrency = 4,
      retries = 1,
      backoff = "none",
      timeout = "300 milliseconds",
      failsQuery = false)
    def called(df: DataFrame) = mapAsync(df, "same", Seq($"value"), IntegerType, options) { row =>
      row.getInt(0) match {
        case 1 => Future.failed(new IllegalStateException("down"))
        case 2 if AsyncCalls.count.incrementAndGet() == 1 => Promise[Any]().future
        case n => Future.successful(n)
      }
    }
    val stream = MemoryStream[Int](1)
    val query = called(stream.toDF()).writeStream.format("noop").start()
    try {
      stream.addData(0 until 10)
      query.processAllAvailable()
      val calls = query.lastProgress.observedMetrics.get("tidemark_calls_same")
      val counts = Seq("calls", "retries", "failed", "timed_out", "defaulted").map(calls.getAs[Long](_))
      assert(counts === Seq(12, 2, 2, 1, 1))
      assert(calls.getAs[Int]("most_in_flight") <= 4)
      assert(calls.getAs[Double]("slowest_ms") >= 300)
      assert(calls.getAs[Double]("p50_ms") <= calls.getAs[Double]("p99_ms"))
      assert(calls.getAs[String]("slowest") === "value=2")
      stream.addData(11)
      query.processAllAvailable()
      assert(query.lastProgress.observedMetrics.get("tidemark_calls_same").getAs[Long]("calls") === 1)
    } finally query.stop()
  }
}
