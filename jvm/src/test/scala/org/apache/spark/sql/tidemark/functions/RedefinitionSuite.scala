package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.BatchComparison

/** `withWatermark` again, further down. */
class RedefinitionSuite extends BatchComparison {
  import testImplicits._

  private def near = expr("a = b AND tb >= ta - INTERVAL 15 MINUTES AND tb <= ta + INTERVAL 15 MINUTES")

  // Rows of a join are emitted out of order, but none is more than two hours behind.
  private val Enough = "2 hours"

  // An inner join emits no row when the streams have ended, and so no row that advances a clock after the join.
  sameAsBatch("a watermark may be set again after a join")((a, b, _) =>
    a.join(b, near, "full_outer")
      .select(coalesce($"ta", $"tb").as("t"))
      .withWatermark("t", Enough)
      .groupBy(window($"t", "10 minutes").as("w"))
      .count()
      .select($"w.start", $"count"))

  moreTests {
    sameAsBatch("a watermark may be set again after a union")((a, b, c) =>
      a.union(b)
        .union(c)
        .select(($"ta" + expr("INTERVAL 1 MINUTE")).as("t"))
        .withWatermark("t", Enough)
        .groupBy(window($"t", "10 minutes").as("w"))
        .count()
        .select($"w.start", $"count"))

    sameAsBatch("a watermark may be set again after windows")((a, _, _) =>
      a.groupBy(window($"ta", "5 minutes"), $"a")
        .count()
        .select($"window.start".as("t"), $"count")
        .withWatermark("t", "0 seconds")
        .groupBy(window($"t", "15 minutes").as("w"))
        .agg(sum("count"))
        .select($"w.start", $"sum(count)"))

    sameAsBatch("a watermark may be set again after windows and before a join with another stream")((a, b, _) =>
      a.groupBy(window($"ta", "5 minutes"), $"a")
        .count()
        .select($"window.end".as("t"), $"a")
        .withWatermark("t", "0 seconds")
        .join(b, expr("a = b AND tb >= t - INTERVAL 15 MINUTES AND tb <= t + INTERVAL 15 MINUTES"), "left_outer"))
  }

  // ta: 10:00 and 10:30. tx: 11:00 and 10:10.
  test("two watermarks on one stream keep both columns as event time") {
    val stream = MemoryStream[(Int, java.sql.Timestamp, java.sql.Timestamp)]
    val both = stream.toDF().toDF("id", "ta", "tx").withWatermark("ta", "0 seconds").withWatermark("tx", "5 minutes")
    def counts(time: String) =
      both.groupBy(window(
        col(time),
        "10 minutes").as("w")).count().select(lit(time), date_format($"w.start", "HH:mm"), $"count")
    testStream(counts("ta").union(counts("tx")))(
      AddData(stream, (1, at("10:00"), at("11:00")), (2, at("10:30"), at("10:10"))),
      ProcessAllAvailable(),
      originsAre("ta" -> Some(millis("10:30")), "tx" -> Some(millis("10:55"))),
      CheckNewAnswer(("ta", "10:00", 1L), ("tx", "10:10", 1L)),
      AddData(stream, (3, at("10:45"), at("10:20")), (4, at("10:20"), at("11:20"))),
      ProcessAllAvailable(),
      originsAre("ta" -> Some(millis("10:45")), "tx" -> Some(millis("11:15"))),
      // 10:20 of row 3 is late by tx, 10:20 of row 4 by ta.
      CheckNewAnswer(("ta", "10:30", 1L), ("tx", "11:00", 1L)))
  }

  testMore("a second watermark on the same column may have a shorter delay") {
    val (stream, a) = timed("ta", "1 hour")
    testStream(a.withWatermark("ta", "0 seconds").groupBy(window($"ta", "10 minutes")).count().select($"count"))(
      AddData(stream, 1 -> at("10:00"), 2 -> at("10:30")),
      ProcessAllAvailable(),
      // Watermarks are numbered from the output, so that the second one comes first.
      originsAre("ta" -> Some(millis("10:30")), "ta#1" -> Some(millis("9:30"))),
      CheckNewAnswer(1L))
  }
}
