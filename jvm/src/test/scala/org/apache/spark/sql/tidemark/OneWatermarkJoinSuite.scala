package org.apache.spark.sql.tidemark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.Histories._

/** Stock stays stock: joins of two streams, only one of which has a watermark. */
class OneWatermarkJoinSuite extends StockComparison {
  import testImplicits._

  private def sameJoin(name: String)(query: (DataFrame, DataFrame) => DataFrame): Unit =
    test(name) {
      val (with_, without) = (wandering(6), wandering(7, rows = 4))
      def joined = {
        val (left, right) = (MemoryStream[Event], MemoryStream[Event])
        val a = timed(left).withWatermark("t", Delay)
        val b = timed(right).select($"id".as("id2"), $"t".as("t2"))
        record(
          "append",
          query(a, b),
          with_.zip(without).map { case (l, r) =>
            () => { left.addData(l); right.addData(r); () }
          })
      }
      val expected = stock(joined)
      assert(expected.exists(_.rows.nonEmpty) && expected.exists(_.operators.exists(_.late > 0)))
      assertSameBatches(joined, expected)
    }

  sameJoin("by something that is not time")((a, b) => a.join(b, $"id" === $"id2"))

  sameJoin("by the time of the minute, the watermark on the left")((a, b) =>
    a.select($"id", $"t", date_trunc("minute", $"t").as("m"))
      .join(b.select($"id2", date_trunc("minute", $"t2").as("m2")), $"m" === $"m2"))

  sameJoin("by windows, the watermark on the left")((a, b) =>
    a.select($"id", window($"t", "5 minutes").as("w"))
      .join(b.select($"id2", window($"t2", "5 minutes").as("w2")), $"w" === $"w2" && $"id" === $"id2", "right_outer"))

  sameJoin("by windows, the watermark on the right")((a, b) =>
    b.select($"id2", window($"t2", "5 minutes").as("w2"))
      .join(a.select($"id", window($"t", "5 minutes").as("w")), $"w" === $"w2" && $"id" === $"id2"))

  sameJoin("by a time range")((a, b) =>
    a.join(b, $"id" === $"id2" && $"t2" > $"t" && $"t2" < $"t" + expr("INTERVAL 5 MINUTES")))
}
