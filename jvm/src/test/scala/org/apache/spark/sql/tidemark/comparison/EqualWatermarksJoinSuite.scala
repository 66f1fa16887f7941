package org.apache.spark.sql.tidemark.comparison

import io.tidemark.MoreSuite

import org.apache.spark.sql.tidemark.support.Histories._
import org.apache.spark.sql.tidemark.support.StockJoinComparison

/** Joins of two streams whose watermarks are always equal, and of a stream with itself, run as on stock Spark. */
class EqualWatermarksJoinSuite extends StockJoinComparison with MoreSuite {
  import testImplicits._

  /** In each step both streams contain the latest row of that step. */
  private val histories: (History, History) =
    wandering(6, steps = 5).zip(wandering(7, steps = 5, rows = 4)).map { case (left, right) =>
      val latest = (left ++ right).maxBy(_._2)
      (left :+ latest, right :+ latest)
    }.unzip

  // Spark has no outer joins in update mode.
  private val modes = kinds.map(_ -> "append") ++ Seq("inner", "left_semi").map(_ -> "update")

  for ((kind, mode) <- modes; (how, join) <- Seq("windows" -> byWindows(kind), "a time range" -> byRange(kind))) {
    sameJoin(s"two streams joined by $how ($kind) match stock Spark", histories, mode, unmatched(kind))((a, b) =>
      join(a.withWatermark("t", Delay), b.withWatermark("t2", Delay)))

    // A join on windows of a stream with itself leaves no row unmatched.
    sameJoin(
      s"a stream joined with itself by $how ($kind) matches stock Spark",
      histories,
      mode,
      saying = if (how == "windows") Nil else unmatched(kind)) { (a, _) =>
      val events = a.withWatermark("t", Delay)
      join(events, events.select($"id".as("id2"), $"t".as("t2")))
    }
  }
}
