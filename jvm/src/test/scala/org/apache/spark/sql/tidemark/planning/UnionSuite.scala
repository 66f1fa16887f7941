package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.RecordedRuns

class UnionSuite extends RecordedRuns {
  import testImplicits._

  private def counts(df: org.apache.spark.sql.DataFrame, time: String) =
    df.groupBy(window(col(time), "10 minutes"))
      .count()
      .select(lit(time), date_format($"window.start", "HH:mm"), $"count")

  test("a fast stream does not wait for a slow stream when both only share a union after aggregation") {
    val (fast, a) = timed("fast", "0 seconds")
    val (slow, b) = timed("slow", "0 seconds")
    testStream(counts(a, "fast").union(counts(b, "slow")))(
      MultiAddData(fast, 1 -> at("10:00"), 2 -> at("10:35"))(slow, 1 -> at("10:00")),
      ProcessAllAvailable(),
      CheckNewAnswer(("fast", "10:00", 1L)),
      AddData(fast, 3 -> at("10:55")),
      ProcessAllAvailable(),
      CheckNewAnswer(("fast", "10:30", 1L)),
      AddData(slow, 2 -> at("10:20")),
      ProcessAllAvailable(),
      CheckNewAnswer(("slow", "10:00", 1L)))
  }

  private val behind = 10

  /** Runs a fast stream that has a row every three minutes, and one that is half an hour behind, counted apart. Returns the
    * step in which each row of the fast stream's result is emitted, and how many rows its state had at most.
    */
  private def fastStream(withSlow: Boolean): (Map[String, Int], Long) = {
    val (fast, a) = timed("fast", "0 seconds")
    val (slow, b) = timed("slow", "0 seconds")
    def time(step: Int) = new Timestamp(millis("10:00") + step * 3 * 60000L)
    // With the id among its keys, the fast stream's state is the larger one.
    val ahead = a.groupBy(window($"fast", "5 minutes").as("w"), $"id")
      .count()
      .select(lit("fast"), date_format($"w.start", "HH:mm"), $"id")
    val late = counts(b, "slow")
    val batches = record(
      "append",
      if (withSlow) ahead.union(late) else ahead,
      Seq.tabulate(16) { step => () =>
        { fast.addData(step -> time(step)); slow.addData(step -> time(step - behind)); () }
      })
    (firstSteps(batches).filter(_._1.startsWith("[fast")), batches.map(_.operators.head.rows).max)
  }

  testMore("a fast stream has the same state size and latency beside a slow stream as alone") {
    // These settings are faster and the same for all runs: a result is emitted with the data of the next step.
    val quick =
      Seq(SQLConf.SHUFFLE_PARTITIONS.key -> "1", SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> "false")
    withSQLConf(quick: _*) {
      val (aloneSteps, aloneState) = fastStream(withSlow = false)
      val (steps, state) = fastStream(withSlow = true)
      assert(steps === aloneSteps)
      assert(state === aloneState)
      val (stockSteps, stockState) = stock(fastStream(withSlow = true))
      assert(stockSteps.nonEmpty && stockSteps.size < aloneSteps.size)
      for ((row, step) <- stockSteps) assert(step === aloneSteps(row) + behind, row)
      assert(stockState > behind && state < 5)
    }
  }

  test("the watermark after a union is that of the slowest input") {
    val (left, a) = timed("one", "0 seconds")
    val (right, b) = timed("two", "0 seconds")
    testStream(counts(a.union(b), "one"))(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:35"))(right, 1 -> at("10:05")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(right, 2 -> at("10:31")),
      ProcessAllAvailable(),
      CheckNewAnswer(("one", "10:00", 2L)))
  }

  // Where `plain` is empty, Spark takes it out of the plan of the batch, and the union of `ahead` and `plain` with it.
  test("an input without event time that comes and goes does not change the watermark of another union") {
    val (ahead, a) = timed("ahead", "0 seconds")
    val (plain, _) = timed("plain", "0 seconds")
    val (left, b) = timed("one", "0 seconds")
    val (right, c) = timed("two", "0 seconds")
    val first = counts(a.union(plain.toDF().toDF("id", "plain")), "ahead")
    testStream(first.union(counts(b.union(c), "one")))(
      StreamProgressLockedActions(
        Seq(
          AddData(ahead, 1 -> at("12:00")),
          AddData(plain, 1 -> at("12:01")),
          AddData(left, 1 -> at("10:00")),
          AddData(right, 1 -> at("10:00"))),
        "to all"),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      MultiAddData(left, 2 -> at("10:15"))(right, 2 -> at("10:20")),
      ProcessAllAvailable(),
      CheckNewAnswer(("one", "10:00", 2L)),
      AddData(plain, 2 -> at("12:02")),
      ProcessAllAvailable(),
      MultiAddData(left, 3 -> at("10:31"))(right, 3 -> at("10:31")),
      ProcessAllAvailable(),
      CheckNewAnswer(("one", "10:10", 1L), ("one", "10:20", 1L)))
  }
}
