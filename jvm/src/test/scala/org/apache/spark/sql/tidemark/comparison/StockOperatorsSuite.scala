package org.apache.spark.sql.tidemark.comparison

import java.sql.Timestamp

import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}
import org.apache.spark.sql.tidemark.support.{Histories, StockComparison}

/** Stock stays stock: everything but aggregations, with one watermark. */
class StockOperatorsSuite extends StockComparison {
  import testImplicits._

  private def names = Seq(1 -> "one", 2 -> "two").toDF("id", "name")

  sameAsStock("deduplication by event time", "update")(_.dropDuplicates("id", "t"))

  sameAsStock("deduplication within the watermark", "append")(_.dropDuplicatesWithinWatermark("id"))

  sameAsStock("windows of a union of a stream with itself")(df =>
    df.union(df.select($"id" + 100, $"t")).groupBy(window($"t", "10 minutes")).agg(sum("id")))

  sameAsStock("flatMapGroupsWithState with event-time timeouts")(
    _.as[(Int, Timestamp)]
      .groupByKey(_._1)
      .flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.EventTimeTimeout)(StockOperatorsSuite.lastSeen)
      .toDF("id", "rows", "ended"))

  moreTests {
    sameAsStock("stateless operators", "append")(
      _.where($"id" > 0).select($"id" + 1, $"t".as("time"), $"t".cast("date")))

    sameAsStock("deduplication without event time", "append")(_.dropDuplicates("id"))

    sameAsStock("a join with a table", "update")(_.join(names, Seq("id"), "left_outer"))

    for (kind <- Seq("inner", "left_semi", "left_anti"))
      sameAsStock(s"the $kind join with a table")(_.join(names, Seq("id"), kind))

    sameAsStock("the right_outer join of a table with the stream", "update")(names.join(_, Seq("id"), "right_outer"))

    sameAsStock("a limit")(_.limit(8))

    sameAsStock("windows after a limit")(_.limit(20).groupBy(window($"t", "10 minutes")).count())

    sameAsStock("a limit after windows")(_.groupBy(window($"t", "10 minutes"), $"id").count().limit(5))

    sameAsStock("windows of a join with a table")(
      _.join(names, "id").groupBy(window($"t", "10 minutes"), $"name").count())

    sameAsStock("windows of exploded rows")(
      _.select($"t", explode(sequence(lit(0), $"id")).as("n")).groupBy(window($"t", "10 minutes")).agg(sum("n")))

    sameAsStock("deduplication before windows")(
      _.dropDuplicates("id", "t").groupBy(window($"t", "10 minutes")).count())

    sameAsStock("deduplication after windows")(
      _.groupBy(window($"t", "5 minutes"), $"id").count().dropDuplicates("window", "count"))

    sameAsStock("a union of a stream with itself")(df => df.where($"id" < 2).union(df.where($"id" > 2)))

    for (mode <- Seq("complete", "update"))
      sameAsStock("the latest time per id", mode)(_.groupBy("id").agg(max("t"), count("*")))

    sameAsStock("the latest time per window", "complete")(
      _.groupBy(window($"t", "10 minutes")).agg(max("t"), count("*")))

    sameAsStock("the latest time per session")(_.groupBy(session_window($"t", "2 minutes"), $"id").agg(max("t")))

    sameAsStock("a computed time that equals the event time", "update")(
      _.withColumn("u", to_timestamp($"t")).groupBy("u").count())

    sameAsStock("mapGroupsWithState with event-time timeouts", "update")(
      _.as[(Int, Timestamp)]
        .groupByKey(_._1)
        .mapGroupsWithState(GroupStateTimeout.EventTimeTimeout)(StockOperatorsSuite.counted)
        .toDF("id", "rows"))
  }

  // Spark asks about the next batch with the plan that has run, in which the second part reads the first one's shuffle;
  // it finds no watermark there, and its second part is a batch late.
  testMore("two parts of one aggregation that share its shuffle emit the same rows as stock Spark, and none later") {
    def parts = run(
      "append",
      Histories.wandering(3),
      events => {
        val counts = events.groupBy(window($"t", "5 minutes"), $"id").count()
        counts.where($"count" > 1).union(counts.where($"count" <= 1))
      })
    val (theirs, ours) = (firstSteps(stock(parts)), firstSteps(parts))
    assert(theirs.nonEmpty)
    for ((row, step) <- theirs) assert(ours.get(row).exists(_ <= step), row)
  }

  testMore("a stream joined with itself emits the same rows as stock Spark, and none later") {
    val history = Histories.wandering(3)
    def pairs = run(
      "append",
      history,
      events => {
        val other = events.select($"id".as("id2"), $"t".as("t2"))
        events.join(other, expr("id = id2 AND t2 > t AND t2 <= t + INTERVAL 4 MINUTES"), "left_outer")
      })
    val (theirs, ours) = (stock(pairs), pairs)
    assert(rows(ours) === rows(theirs))
    assert(rows(ours).exists(_.contains("null")) && !rows(ours).forall(_.contains("null")))
    for ((row, step) <- firstSteps(ours)) assert(step <= firstSteps(theirs)(row), row)
  }
}

object StockOperatorsSuite {

  /** Counts the rows of a group until nothing has come for ten minutes. */
  val lastSeen: (Int, Iterator[(Int, Timestamp)], GroupState[Int]) => Iterator[(Int, Int, Boolean)] =
    (id, events, state) =>
      if (state.hasTimedOut) {
        val rows = state.get
        state.remove()
        Iterator((id, rows, true))
      } else {
        val times = events.map(_._2.getTime).toSeq
        state.update(state.getOption.getOrElse(0) + times.size)
        state.setTimeoutTimestamp(math.max(times.max, state.getCurrentWatermarkMs()) + 600000L)
        Iterator((id, state.get, false))
      }

  val counted: (Int, Iterator[(Int, Timestamp)], GroupState[Int]) => (Int, Int) =
    (id, events, state) =>
      if (state.hasTimedOut) {
        state.remove()
        (id, -1)
      } else {
        state.update(state.getOption.getOrElse(0) + events.size)
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 600000L)
        (id, state.get)
      }
}
