package org.apache.spark.sql.tidemark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._

/** Operators one after the other: nothing is lost and nothing comes twice, however far the streams are apart. */
class ChainsSuite extends BatchComparison {
  import testImplicits._

  private def near(least: Int, most: Int) = expr(
    s"a = b AND tb >= ta + INTERVAL $least MINUTES AND tb <= ta + INTERVAL $most MINUTES")

  private def counted(df: DataFrame, time: String, size: String = "10 minutes") =
    df.groupBy(window(col(time), size).as("w")).count().select($"w.start".as("at"), lit(time).as("of"), $"count")

  sameAsBatch("a union of aggregations", neverLater = true)((a, b, c) =>
    counted(a, "ta").union(counted(b, "tb")).union(counted(c, "tc")))

  sameAsBatch("an aggregation of a union", neverLater = true)((a, b, c) => counted(a.union(b).union(c), "ta"))

  for (kind <- Seq("inner", "left_outer"))
    sameAsBatch(s"$kind join, then windows of the left", neverLater = true)((a, b, _) =>
      counted(a.join(b, near(0, 15), kind).select($"ta"), "ta"))

  sameAsBatch("right outer join, then windows of the right", neverLater = true)((a, b, _) =>
    counted(a.join(b, near(-15, 5), "right_outer").select($"tb"), "tb"))

  sameAsBatch("left semi join, then windows", neverLater = true)((a, b, _) =>
    counted(a.join(b, near(-15, 15), "left_semi"), "ta"))

  sameAsBatch("full outer join, then windows of both times") { (a, b, _) =>
    val joined = a.join(b, near(-15, 15), "full_outer")
    joined.groupBy(window($"ta", "10 minutes").as("w"), $"tb").count().select($"w.start", $"tb", $"count")
  }

  sameAsBatch("join, windows, windows of windows", neverLater = true)((a, b, _) =>
    a.join(b, near(0, 15), "left_outer")
      .groupBy(window($"ta", "5 minutes").as("w"), $"a")
      .agg(count("b").as("n"))
      .groupBy(window($"w", "20 minutes").as("w"))
      .agg(sum("n"), count("*"))
      .select($"w.start", $"sum(n)", $"count(1)"))

  sameAsBatch("windows of each, joined by window", neverLater = true) { (a, b, _) =>
    val left = a.groupBy(window($"ta", "10 minutes").as("w"), $"a").count()
    val right = b.groupBy(window($"tb", "10 minutes").as("w2"), $"b").count().withColumnRenamed("count", "count2")
    left.join(right, $"w" === $"w2" && $"a" === $"b", "left_outer").select($"w.start", $"a", $"count", $"count2")
  }

  sameAsBatch("a union of joins", neverLater = true)((a, b, c) =>
    counted(
      a.join(b, near(0, 15), "left_outer").select($"ta", $"tb").select($"ta".as("t"))
        .union(a.join(c, expr("a = c AND tc >= ta AND tc <= ta + INTERVAL 5 MINUTES")).select($"ta".as("t"))),
      "t"))

  sameAsBatch("deduplication of each, then a join", neverLater = true)((a, b, _) =>
    a.dropDuplicates("a", "ta").join(b.dropDuplicates("b", "tb"), near(-15, 15), "full_outer"))

  sameAsBatch("a join, then deduplication by one of its times")((a, b, _) =>
    a.join(b, near(-15, 15)).select($"b", $"tb").dropDuplicates("b", "tb"))

  for (kind <- Seq("inner", "left_outer"))
    sameAsBatch(s"three streams, $kind")((a, b, c) =>
      a.join(b, near(-15, 15), kind)
        .join(c, expr("b = c AND tc >= tb - INTERVAL 15 MINUTES AND tc <= tb + INTERVAL 15 MINUTES"), kind))

  sameAsBatch("a join, and a further join by the other time")((a, b, c) =>
    a.join(b, near(-15, 15))
      .join(c, expr("a = c AND tc >= ta - INTERVAL 15 MINUTES AND tc <= ta + INTERVAL 15 MINUTES"), "left_outer"))

  sameAsBatch("a carried time, by which the next windows are made")((a, b, _) =>
    a.join(b, near(-15, 15))
      .groupBy(window($"ta", "5 minutes").as("wa"), $"tb")
      .count()
      .groupBy(window($"tb", "10 minutes").as("wb"))
      .agg(sum("count"))
      .select($"wb.start", $"sum(count)"))

  sameAsBatch("a carried time beside one that is aggregated, by which the next windows are made")((a, b, _) =>
    a.join(b, near(-15, 15))
      .groupBy($"tb", window($"ta", "5 minutes").as("wa"))
      .agg(count("*").as("n"), max("ta"), max("b"))
      .groupBy(window($"tb", "10 minutes").as("wb"))
      .agg(sum("n"))
      .select($"wb.start", $"sum(n)"))

  sameAsBatch("two windows in one grouping")((a, b, _) =>
    a.join(b, near(-15, 15))
      .withColumn("wa", window($"ta", "10 minutes"))
      .withColumn("wb", window($"tb", "5 minutes"))
      .groupBy($"wa", $"wb")
      .count()
      .select($"wa.start", $"wb.start", $"count"))
}
