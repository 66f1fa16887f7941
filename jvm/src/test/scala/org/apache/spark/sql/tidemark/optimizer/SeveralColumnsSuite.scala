package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.WatermarkTest

class SeveralColumnsSuite extends WatermarkTest {
  import testImplicits._

  private def start(column: String) = date_format(col(s"$column.start"), "HH:mm")

  private def joined(delay: String = "0 seconds") = {
    val (sa, a) = timed("ta", delay, "a")
    val (sb, b) = timed("tb", delay, "b")
    (sa, sb, a.join(b, expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 10 MINUTES")))
  }

  test("joined rows can be grouped by the window of one column and the time of the other") {
    val (sa, sb, df) = joined()
    val counts =
      df.groupBy(window($"ta", "10 minutes").as("w"), $"tb").count().select(start("w"), $"tb".cast("string"), $"count")
    testStream(counts)(
      MultiAddData(sa, 1 -> at("10:00"), 2 -> at("10:01"))(sb, 1 -> at("10:05"), 2 -> at("10:05")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      MultiAddData(sa, 3 -> at("10:40"))(sb, 3 -> at("10:40")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", "2024-03-01 10:05:00", 2L)))
  }

  test("a window aggregation carries a second event-time column, and the next aggregation groups by it") {
    val (sa, sb, df) = joined()
    val counts = df
      .groupBy(window($"ta", "10 minutes").as("wa"), $"tb")
      .count()
      .groupBy(window($"tb", "10 minutes").as("wb"))
      .agg(sum($"count"))
      .select(start("wb"), $"sum(count)")
    testStream(counts)(
      MultiAddData(sa, 1 -> at("10:00"), 2 -> at("10:08"))(sb, 1 -> at("10:05"), 2 -> at("10:12")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      MultiAddData(sa, 3 -> at("10:40"))(sb, 3 -> at("10:40")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 1L), ("10:10", 1L)))
  }

  test("a second watermark after a join closes windows") {
    val (sa, sb, df) = joined()
    val counts = df
      .select($"a", $"tb".as("t"))
      .withWatermark("t", "5 minutes")
      .groupBy(window($"t", "10 minutes").as("w"))
      .count()
      .select(start("w"), $"count")
    testStream(counts)(
      MultiAddData(sa, 1 -> at("10:00"))(sb, 1 -> at("10:05")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      MultiAddData(sa, 2 -> at("10:40"))(sb, 2 -> at("10:41")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 1L)))
  }

  test("a second watermark after a window aggregation closes windows, where stock Spark never emits a row") {
    val (sa, a) = timed("ta", "0 seconds", "a")
    val counts = a
      .groupBy(window($"ta", "10 minutes"))
      .count()
      .select($"window.start".as("t"), $"count")
      .withWatermark("t", "0 seconds")
      .groupBy(window($"t", "30 minutes").as("w"))
      .agg(sum("count"))
      .select(start("w"), $"sum(count)")
    testStream(counts)(
      AddData(sa, 1 -> at("10:00"), 2 -> at("10:11"), 3 -> at("10:31")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(sa, 4 -> at("11:00")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 2L)))
  }

  test("deduplication by one of two event-time columns drops the duplicates") {
    // No row is late.
    val (sa, sb, df) = joined(delay = "1 hour")
    testStream(df.dropDuplicates("tb").select(date_format($"tb", "HH:mm")))(
      MultiAddData(sa, 1 -> at("10:00"), 2 -> at("10:01"), 3 -> at("10:00"))(
        sb,
        1 -> at("10:05"),
        2 -> at("10:05"),
        3 -> at("10:06")),
      ProcessAllAvailable(),
      CheckNewAnswer("10:05", "10:06"),
      MultiAddData(sa, 4 -> at("10:02"), 5 -> at("10:02"))(sb, 4 -> at("10:05"), 5 -> at("10:07")),
      ProcessAllAvailable(),
      CheckNewAnswer("10:07"))
  }

  test("a limit keeps several event-time columns") {
    val (sa, sb, df) = joined()
    val counts = df
      .limit(3)
      .groupBy(window($"ta", "10 minutes").as("w"), $"tb")
      .count()
      .select(start("w"), date_format($"tb", "HH:mm"), $"count")
    testStream(counts)(
      MultiAddData(sa, 1 -> at("10:00"), 2 -> at("10:01"))(sb, 1 -> at("10:05"), 2 -> at("10:05")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      MultiAddData(sa, 3 -> at("10:40"), 4 -> at("10:41"))(sb, 3 -> at("10:45"), 4 -> at("10:45")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", "10:05", 2L)),
      MultiAddData(sa, 5 -> at("11:05"))(sb, 5 -> at("11:15")),
      ProcessAllAvailable(),
      // One of the two: the limit is reached.
      CheckNewAnswer(("10:40", "10:45", 1L)))
  }

  test("deduplication within the watermark uses the column whose watermark was set last") {
    val (sa, sb, df) = joined()
    testStream(df.dropDuplicatesWithinWatermark("a").select($"a"))(
      MultiAddData(sa, 1 -> at("10:00"))(sb, 1 -> at("10:05"), 1 -> at("10:06")),
      ProcessAllAvailable(),
      CheckNewAnswer(1))
  }
}
