package org.apache.spark.sql.tidemark.comparison

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.BatchComparison

/** Chains of operators lose no row and emit none twice, however far the streams are apart. */
class ChainsSuite extends BatchComparison {
  import testImplicits._

  private def near(least: Int, most: Int) = expr(
    s"a = b AND tb >= ta + INTERVAL $least MINUTES AND tb <= ta + INTERVAL $most MINUTES")

  private def counted(df: DataFrame, time: String, size: String = "10 minutes") =
    df.groupBy(window(col(time), size).as("w")).count().select($"w.start".as("at"), lit(time).as("of"), $"count")

  sameAsBatch("windows by a carried time match the batch result")((a, b, _) =>
    a.join(b, near(-15, 15))
      .groupBy(window($"ta", "5 minutes").as("wa"), $"tb")
      .count()
      .groupBy(window($"tb", "10 minutes").as("wb"))
      .agg(sum("count"))
      .select($"wb.start", $"sum(count)"))

  moreTests {
    sameAsBatch("a union of aggregations matches the batch result", neverLater = true)((a, b, c) =>
      counted(a, "ta").union(counted(b, "tb")).union(counted(c, "tc")))

    sameAsBatch("an aggregation of a union matches the batch result", neverLater = true)((a, b, c) =>
      counted(a.union(b).union(c), "ta"))

    for (kind <- Seq("inner", "left_outer"))
      sameAsBatch(s"windows by the left time of a join ($kind) match the batch result", neverLater = true)((a, b, _) =>
        counted(a.join(b, near(0, 15), kind).select($"ta"), "ta"))

    sameAsBatch("windows by the right time of a right outer join match the batch result", neverLater = true) {
      (a, b, _) =>
        counted(a.join(b, near(-15, 5), "right_outer").select($"tb"), "tb")
    }

    sameAsBatch("windows after a left semi join match the batch result", neverLater = true)((a, b, _) =>
      counted(a.join(b, near(-15, 15), "left_semi"), "ta"))

    sameAsBatch("an aggregation by both times of a full outer join matches the batch result") { (a, b, _) =>
      val joined = a.join(b, near(-15, 15), "full_outer")
      joined.groupBy(window($"ta", "10 minutes").as("w"), $"tb").count().select($"w.start", $"tb", $"count")
    }

    sameAsBatch("windows of windows after a left outer join match the batch result", neverLater = true)((a, b, _) =>
      a.join(b, near(0, 15), "left_outer")
        .groupBy(window($"ta", "5 minutes").as("w"), $"a")
        .agg(count("b").as("n"))
        .groupBy(window($"w", "20 minutes").as("w"))
        .agg(sum("n"), count("*"))
        .select($"w.start", $"sum(n)", $"count(1)"))

    sameAsBatch("a left outer join of two window aggregations matches the batch result", neverLater = true) {
      (a, b, _) =>
        val left = a.groupBy(window($"ta", "10 minutes").as("w"), $"a").count()
        val right = b.groupBy(window($"tb", "10 minutes").as("w2"), $"b").count().withColumnRenamed("count", "count2")
        left.join(right, $"w" === $"w2" && $"a" === $"b", "left_outer").select($"w.start", $"a", $"count", $"count2")
    }

    sameAsBatch("a union of joins matches the batch result", neverLater = true)((a, b, c) =>
      counted(
        a.join(b, near(0, 15), "left_outer").select($"ta", $"tb").select($"ta".as("t"))
          .union(a.join(c, expr("a = c AND tc >= ta AND tc <= ta + INTERVAL 5 MINUTES")).select($"ta".as("t"))),
        "t"))

    sameAsBatch("a full outer join of two deduplicated streams matches the batch result", neverLater = true) {
      (a, b, _) =>
        a.dropDuplicates("a", "ta").join(b.dropDuplicates("b", "tb"), near(-15, 15), "full_outer")
    }

    sameAsBatch("deduplication by one of the two times of a join matches the batch result")((a, b, _) =>
      a.join(b, near(-15, 15)).select($"b", $"tb").dropDuplicates("b", "tb"))

    for (kind <- Seq("inner", "left_outer"))
      sameAsBatch(s"a chain of two joins ($kind) matches the batch result")((a, b, c) =>
        a.join(b, near(-15, 15), kind)
          .join(c, expr("b = c AND tc >= tb - INTERVAL 15 MINUTES AND tc <= tb + INTERVAL 15 MINUTES"), kind))

    sameAsBatch("a second join by the left time of the first join matches the batch result")((a, b, c) =>
      a.join(b, near(-15, 15))
        .join(c, expr("a = c AND tc >= ta - INTERVAL 15 MINUTES AND tc <= ta + INTERVAL 15 MINUTES"), "left_outer"))

    sameAsBatch("windows by a carried time beside an aggregated time match the batch result")((a, b, _) =>
      a.join(b, near(-15, 15))
        .groupBy($"tb", window($"ta", "5 minutes").as("wa"))
        .agg(count("*").as("n"), max("ta"), max("b"))
        .groupBy(window($"tb", "10 minutes").as("wb"))
        .agg(sum("n"))
        .select($"wb.start", $"sum(n)"))

    sameAsBatch("an aggregation by windows of two different times matches the batch result")((a, b, _) =>
      a.join(b, near(-15, 15))
        .withColumn("wa", window($"ta", "10 minutes"))
        .withColumn("wb", window($"tb", "5 minutes"))
        .groupBy($"wa", $"wb")
        .count()
        .select($"wa.start", $"wb.start", $"count"))
  }
}
