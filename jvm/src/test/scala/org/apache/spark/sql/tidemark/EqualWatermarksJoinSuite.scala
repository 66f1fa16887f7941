package org.apache.spark.sql.tidemark

import org.apache.spark.sql.tidemark.Histories._

/** Stock stays stock: joins of two streams whose watermarks are always the same, and of a stream with itself. */
class EqualWatermarksJoinSuite extends StockJoinComparison {
  import testImplicits._

  /** In each step both bring what is latest of it. */
  private val histories: (History, History) =
    wandering(6, steps = 5).zip(wandering(7, steps = 5, rows = 4)).map { case (left, right) =>
      val latest = (left ++ right).maxBy(_._2)
      (left :+ latest, right :+ latest)
    }.unzip

  // In update mode Spark has no outer joins.
  private val modes = kinds.map(_ -> "append") ++ Seq("inner", "left_semi").map(_ -> "update")

  for ((kind, mode) <- modes; (how, join) <- Seq("windows" -> byWindows(kind), "a time range" -> byRange(kind))) {
    sameJoin(s"$kind of two streams, by $how", histories, mode, unmatched(kind))((a, b) =>
      join(a.withWatermark("t", Delay), b.withWatermark("t2", Delay)))

    // Each window of a stream has a match in itself.
    sameJoin(
      s"$kind of a stream with itself, by $how",
      histories,
      mode,
      saying = if (how == "windows") Nil else unmatched(kind)) { (a, _) =>
      val events = a.withWatermark("t", Delay)
      join(events, events.select($"id".as("id2"), $"t".as("t2")))
    }
  }
}
