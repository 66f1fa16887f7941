package org.apache.spark.sql.tidemark.comparison

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.StockComparison

/** Stock stays stock: aggregations with one watermark. */
class StockAggregationsSuite extends StockComparison {
  import testImplicits._

  for (mode <- Seq("append", "update", "complete")) moreTestsIf(mode != "append") {
    sameAsStock("tumbling windows", mode)(_.groupBy(window($"t", "10 minutes"), $"id").count())
    if (mode != "update")
      sameAsStock("session windows", mode)(_.groupBy(session_window($"t", "3 minutes"), $"id").count())
  }

  moreTests {
    for (mode <- Seq("append", "update", "complete"))
      sameAsStock("sliding windows", mode)(_.groupBy(window($"t", "10 minutes", "4 minutes")).agg(sum("id")))

    sameAsStock("grouping by the event time itself")(_.groupBy($"t").count())

    sameAsStock("session windows with different gaps")(
      _.groupBy(session_window($"t", when($"id" === 1, "5 minutes").otherwise("1 minute")), $"id").count())

    sameAsStock("grouping by a column that is not event time", "update")(_.groupBy($"id").agg(max("t")))

    sameAsStock("one group of all rows", "complete")(_.agg(count("*"), max("t")))

    sameAsStock("windows of a time column that is not event time", "update")(
      _.withColumn("later", $"t" + expr("INTERVAL 1 HOUR")).groupBy(window($"later", "10 minutes")).count())

    sameAsStock("distinct rows")(_.select(date_trunc("minute", $"t").as("minute"), $"t").distinct())

    sameAsStock("a filter after windows")(
      _.groupBy(window($"t", "10 minutes")).count().where($"count" > 2).select($"window.start", $"count"))

    sameAsStock("a rollup of windows", "update")(_.rollup(window($"t", "10 minutes"), $"id").count())

    sameAsStock("sorted and limited windows", "complete")(
      _.groupBy(window($"t", "10 minutes")).count().orderBy($"count".desc, $"window.start").limit(3))

    sameAsStock("windows of windows, by window_time")(
      _.groupBy(window($"t", "5 minutes"), $"id")
        .count()
        .groupBy(window(window_time($"window"), "15 minutes"))
        .agg(sum("count")))

    sameAsStock("windows of windows, directly")(
      _.groupBy(window($"t", "5 minutes"), $"id").count().groupBy(window($"window", "15 minutes")).agg(sum("count")))

    sameAsStock("three chained aggregations")(
      _.groupBy(window($"t", "1 minute"), $"id")
        .count()
        .groupBy(window($"window", "5 minutes"), $"id")
        .agg(sum("count").as("count"))
        .groupBy(window($"window", "15 minutes"))
        .agg(sum("count")))
  }
}
