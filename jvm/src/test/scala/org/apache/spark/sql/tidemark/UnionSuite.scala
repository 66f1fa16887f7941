package org.apache.spark.sql.tidemark

import org.apache.spark.sql.functions._

class UnionSuite extends KeyedWatermarkTest {
  import testImplicits._

  private def counts(df: org.apache.spark.sql.DataFrame, time: String) =
    df.groupBy(window(col(time), "10 minutes"))
      .count()
      .select(lit(time), date_format($"window.start", "HH:mm"), $"count")

  test("a fast stream does not wait for a slow one that it only shares a union with") {
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

  test("behind a union a column is as far as its slowest input") {
    val (one, a) = timed("one", "0 seconds")
    val (two, b) = timed("two", "0 seconds")
    testStream(counts(a.union(b), "one"))(
      MultiAddData(one, 1 -> at("10:00"), 2 -> at("10:35"))(two, 1 -> at("10:05")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(two, 2 -> at("10:31")),
      ProcessAllAvailable(),
      CheckNewAnswer(("one", "10:00", 2L)))
  }
}
