package org.apache.spark.sql.tidemark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._

/** A watermark goes with its column through everything that keeps no state. */
class StatelessOperatorsSuite extends BatchComparison {
  import testImplicits._

  private def joinedOn(left: String, right: String) =
    expr(s"a = b AND $right >= $left - INTERVAL 15 MINUTES AND $right <= $left + INTERVAL 15 MINUTES")

  sameAsBatch("other names", neverLater = true)((a, b, _) =>
    a.select($"a", $"ta".as("x"))
      .toDF("a", "y")
      .join(b.withColumnRenamed("tb", "z"), joinedOn("y", "z"), "left_outer")
      .select($"y".as("first"), $"z".as("second")))

  sameAsBatch("filters", neverLater = true)((a, b, _) =>
    a.where($"a" =!= 1).join(b.where($"tb" > "2024-01-01"), joinedOn("ta", "tb"), "left_outer").where($"a" =!= 2))

  sameAsBatch("exploded rows", neverLater = true)((a, b, _) =>
    a.select($"a", $"ta", explode(array(lit(1), lit(2))).as("n"))
      .join(b, joinedOn("ta", "tb"), "left_outer")
      .groupBy(window($"ta", "10 minutes").as("w"), $"n")
      .count()
      .select($"w.start", $"n", $"count"))

  sameAsBatch("sliding windows", neverLater = true)((a, b, _) =>
    a.join(b, joinedOn("ta", "tb"), "left_outer")
      .groupBy(window($"ta", "10 minutes", "4 minutes").as("w"))
      .count()
      .select($"w.start", $"count"))

  sameAsBatch("sliding windows of one time, with the other beside them")((a, b, _) =>
    a.join(b, joinedOn("ta", "tb"))
      .groupBy(window($"tb", "10 minutes", "5 minutes").as("w"), $"ta")
      .count()
      .select($"w.start", $"ta", $"count"))

  sameAsBatch("session windows of one of two times")((a, b, _) =>
    a.join(b, joinedOn("ta", "tb"))
      .groupBy(session_window($"tb", "3 minutes").as("w"), $"a")
      .count()
      .select($"w.start", $"w.end", $"a", $"count"))

  sameAsBatch("the time of a window", neverLater = true)((a, b, _) =>
    a.groupBy(window($"ta", "5 minutes"), $"a")
      .count()
      .select(window_time($"window").as("at"), $"a")
      .join(b, joinedOn("at", "tb"), "left_outer"))

  sameAsBatch("grouping sets with a window in each", neverLater = true)((a, b, _) =>
    a.join(b, joinedOn("ta", "tb"), "left_outer")
      .select(window($"ta", "10 minutes").as("w"), $"a", $"b")
      .groupingSets(Seq(Seq($"w", $"a"), Seq($"w", $"b")), $"w", $"a", $"b")
      .count()
      .select($"w.start", $"a", $"b", $"count"))

  sameAsBatch("a join with a table between two joins with streams")((a, b, c) =>
    a.join(b, joinedOn("ta", "tb"))
      .join(Seq(0 -> "zero", 1 -> "one").toDF("a", "name"), Seq("a"), "left_outer")
      .join(c, expr("a = c AND tc >= tb - INTERVAL 15 MINUTES AND tc <= tb + INTERVAL 15 MINUTES"), "left_outer"))

  sameAsBatch("a union of columns under other names, joined", neverLater = true)((a, b, c) =>
    a.select($"a", $"ta").union(c.select($"c", $"tc")).join(b, joinedOn("ta", "tb"), "left_outer"))

  sameAsBatch("windows and their time, through a union")((a, b, _) => {
    def windows(df: DataFrame, id: String, time: String) =
      df.groupBy(window(col(time), "5 minutes").as("w"), col(id)).count()
    windows(a, "a", "ta").union(windows(b, "b", "tb"))
      .select(window_time($"w").as("t"), $"a")
      .groupBy(window($"t", "10 minutes").as("w"), $"t")
      .agg(sum("a"))
      .select($"w.start", $"t", $"sum(a)")
  })

  sameAsBatch("both times through a union")((a, b, c) => {
    val near = a.join(b, joinedOn("ta", "tb")).select($"ta", $"tb")
    val far = c.select($"tc".as("ta"), $"tc".as("tb"))
    near.union(far).groupBy(window($"tb", "10 minutes").as("w"), $"ta").count().select($"w.start", $"ta", $"count")
  })
}
