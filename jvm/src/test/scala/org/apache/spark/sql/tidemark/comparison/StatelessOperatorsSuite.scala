package org.apache.spark.sql.tidemark.comparison

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.BatchComparison

/** A watermark goes with its column through everything that keeps no state. */
class StatelessOperatorsSuite extends BatchComparison {
  import testImplicits._

  private def joinedOn(left: String, right: String) =
    expr(s"a = b AND $right >= $left - INTERVAL 15 MINUTES AND $right <= $left + INTERVAL 15 MINUTES")

  sameAsBatch("a watermark passes through a union of windows and window_time")((a, b, _) => {
    def windows(df: DataFrame, id: String, time: String) =
      df.groupBy(window(col(time), "5 minutes").as("w"), col(id)).count()
    windows(a, "a", "ta").union(windows(b, "b", "tb"))
      .select(window_time($"w").as("t"), $"a")
      .groupBy(window($"t", "10 minutes").as("w"), $"t")
      .agg(sum("a"))
      .select($"w.start", $"t", $"sum(a)")
  })

  moreTests {
    sameAsBatch("a watermark passes through renamed columns", neverLater = true)((a, b, _) =>
      a.select($"a", $"ta".as("x"))
        .toDF("a", "y")
        .join(b.withColumnRenamed("tb", "z"), joinedOn("y", "z"), "left_outer")
        .select($"y".as("first"), $"z".as("second")))

    sameAsBatch("a watermark passes through filters", neverLater = true)((a, b, _) =>
      a.where($"a" =!= 1).join(b.where($"tb" > "2024-01-01"), joinedOn("ta", "tb"), "left_outer").where($"a" =!= 2))

    sameAsBatch("a watermark passes through exploded rows", neverLater = true)((a, b, _) =>
      a.select($"a", $"ta", explode(array(lit(1), lit(2))).as("n"))
        .join(b, joinedOn("ta", "tb"), "left_outer")
        .groupBy(window($"ta", "10 minutes").as("w"), $"n")
        .count()
        .select($"w.start", $"n", $"count"))

    sameAsBatch("a watermark passes through sliding windows", neverLater = true)((a, b, _) =>
      a.join(b, joinedOn("ta", "tb"), "left_outer")
        .groupBy(window($"ta", "10 minutes", "4 minutes").as("w"))
        .count()
        .select($"w.start", $"count"))

    sameAsBatch("sliding windows of one time keep the other event time")((a, b, _) =>
      a.join(b, joinedOn("ta", "tb"))
        .groupBy(window($"tb", "10 minutes", "5 minutes").as("w"), $"ta")
        .count()
        .select($"w.start", $"ta", $"count"))

    sameAsBatch("session windows close by one of two event times")((a, b, _) =>
      a.join(b, joinedOn("ta", "tb"))
        .groupBy(session_window($"tb", "3 minutes").as("w"), $"a")
        .count()
        .select($"w.start", $"w.end", $"a", $"count"))

    sameAsBatch("a watermark passes through window_time", neverLater = true)((a, b, _) =>
      a.groupBy(window($"ta", "5 minutes"), $"a")
        .count()
        .select(window_time($"window").as("at"), $"a")
        .join(b, joinedOn("at", "tb"), "left_outer"))

    sameAsBatch("a watermark passes through grouping sets with a window in each", neverLater = true)((a, b, _) =>
      a.join(b, joinedOn("ta", "tb"), "left_outer")
        .select(window($"ta", "10 minutes").as("w"), $"a", $"b")
        .groupingSets(Seq(Seq($"w", $"a"), Seq($"w", $"b")), $"w", $"a", $"b")
        .count()
        .select($"w.start", $"a", $"b", $"count"))

    sameAsBatch("a watermark passes through a join with a table between two stream joins")((a, b, c) =>
      a.join(b, joinedOn("ta", "tb"))
        .join(Seq(0 -> "zero", 1 -> "one").toDF("a", "name"), Seq("a"), "left_outer")
        .join(c, expr("a = c AND tc >= tb - INTERVAL 15 MINUTES AND tc <= tb + INTERVAL 15 MINUTES"), "left_outer"))

    sameAsBatch("a watermark passes through a union of renamed columns", neverLater = true)((a, b, c) =>
      a.select($"a", $"ta").union(c.select($"c", $"tc")).join(b, joinedOn("ta", "tb"), "left_outer"))

    sameAsBatch("two event times pass through a union")((a, b, c) => {
      val near = a.join(b, joinedOn("ta", "tb")).select($"ta", $"tb")
      val far = c.select($"tc".as("ta"), $"tc".as("tb"))
      near.union(far).groupBy(window($"tb", "10 minutes").as("w"), $"ta").count().select($"w.start", $"ta", $"count")
    })
  }
}
