package org.apache.spark.sql.tidemark

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.Histories._

/** Stock stays stock: joins of two streams, only one of which has a watermark. */
class OneWatermarkJoinSuite extends StockJoinComparison {
  import testImplicits._

  private val histories = (wandering(6), wandering(7, rows = 4))

  private def onLeft(name: String, saying: Seq[String] = Nil)(query: Joining): Unit =
    sameJoin(s"$name, the watermark on the left", histories, saying = saying)((a, b) =>
      query(a.withWatermark("t", Delay), b))

  private def onRight(name: String, saying: Seq[String] = Nil)(query: Joining): Unit =
    sameJoin(s"$name, the watermark on the right", histories, saying = saying)((a, b) =>
      query(a, b.withWatermark("t2", Delay)))

  onLeft("by something that is not time")((a, b) => a.join(b, $"id" === $"id2"))

  onLeft("by the time of the minute")((a, b) =>
    a.select($"id", $"t", date_trunc("minute", $"t").as("m"))
      .join(b.select($"id2", date_trunc("minute", $"t2").as("m2")), $"m" === $"m2"))

  for (kind <- kinds) {
    onLeft(s"$kind, by windows", unmatched(kind))(byWindows(kind))
    onRight(s"$kind, by windows", unmatched(kind))(byWindows(kind))
  }

  // Where only one side has a watermark a time range closes neither, and no row comes out without a match. What needs it
  // on the other side is refused.
  for (kind <- Seq("inner", "right_outer", "full_outer")) onLeft(s"$kind, by a time range")(byRange(kind))

  for (kind <- Seq("inner", "left_outer", "full_outer", "left_semi"))
    onRight(s"$kind, by a time range")(byRange(kind))
}
