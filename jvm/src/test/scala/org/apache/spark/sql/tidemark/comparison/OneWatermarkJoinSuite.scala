package org.apache.spark.sql.tidemark.comparison

import io.tidemark.MoreSuite

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.Histories._
import org.apache.spark.sql.tidemark.support.StockJoinComparison

/** Stock stays stock: joins of two streams, only one of which has a watermark. */
class OneWatermarkJoinSuite extends StockJoinComparison with MoreSuite {
  import testImplicits._

  private val histories = (wandering(6), wandering(7, rows = 4))

  private def onLeft(name: String, saying: Seq[String] = Nil)(query: Joining): Unit =
    sameJoin(s"with a watermark on the left only, $name matches stock Spark", histories, saying = saying)((a, b) =>
      query(a.withWatermark("t", Delay), b))

  private def onRight(name: String, saying: Seq[String] = Nil)(query: Joining): Unit =
    sameJoin(s"with a watermark on the right only, $name matches stock Spark", histories, saying = saying)((a, b) =>
      query(a, b.withWatermark("t2", Delay)))

  onLeft("a join by a column that is not event time")((a, b) => a.join(b, $"id" === $"id2"))

  onLeft("a join by the minute of the event time")((a, b) =>
    a.select($"id", $"t", date_trunc("minute", $"t").as("m"))
      .join(b.select($"id2", date_trunc("minute", $"t2").as("m2")), $"m" === $"m2"))

  for (kind <- kinds) {
    onLeft(s"the $kind join by windows", unmatched(kind))(byWindows(kind))
    onRight(s"the $kind join by windows", unmatched(kind))(byWindows(kind))
  }

  // A time range evicts neither side if only one has a watermark, and emits no row without a match. A join that needs
  // the watermark on the other side is refused.
  for (kind <- Seq("inner", "right_outer", "full_outer")) onLeft(s"the $kind join by a time range")(byRange(kind))

  for (kind <- Seq("inner", "left_outer", "full_outer", "left_semi"))
    onRight(s"the $kind join by a time range")(byRange(kind))
}
