package org.apache.spark.sql.tidemark.columns

import java.sql.Timestamp

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.RecordedRuns

/** Values with several event times inside, and values with times beside other event-time columns. */
class SeveralTimesInsideSuite extends RecordedRuns {
  import testImplicits._

  // The first time of each row is always before the second one, and none of them is late.
  private val times = Seq(
    "10:01" -> "10:03",
    "10:02" -> "10:04",
    "10:11" -> "10:14",
    "10:25" -> "10:26",
    "11:00" -> "11:10")

  /** The ids that a query emits: rows of the ids 0 to 4, one in each step. */
  private def emitted(earlier: String, later: String)(query: DataFrame => DataFrame): Seq[String] = {
    val events = MemoryStream[(Int, Timestamp, Timestamp)]
    val df = events.toDF().toDF("k", earlier, later).withWatermark("t", "0 seconds").withWatermark("u", "0 seconds")
    val steps = times.zipWithIndex.map { case ((first, second), step) =>
      () => { events.addData((step, at(first), at(second))); () }
    }
    rows(record("append", query(df).select($"k"), steps))
  }

  private val all = Seq("[0]", "[1]", "[2]", "[3]")

  for {
    (earlier, later) <- Seq("t" -> "u", "u" -> "t")
    fields <- Seq("t, u", "u, t")
  } moreTestsIf(earlier != "u" || fields != "t, u") {
    test(s"a struct is as old as its earliest event time, for struct($fields) with $earlier before $later") {
      assert(emitted(earlier, later) { df =>
        df.selectExpr("k", "t", s"struct($fields) AS s")
          .groupBy(window($"t", "10 minutes"), $"k", $"s").count()
          .selectExpr("k", "s.t", "s.u")
          .dropDuplicates("k", earlier)
      } === all)
    }
  }

  for (mode <- generated)
    testMore(s"a nested struct is as old as its earliest event time ($mode)") {
      withCode(mode) {
        assert(emitted("u", "t") { df =>
          df.selectExpr("k", "t", "struct(struct(u, k) AS a, t) AS s")
            .groupBy(window($"t", "10 minutes"), $"k", $"s").count()
            .selectExpr("k", "s.t", "s.a.u")
            .dropDuplicates("k", "u")
        } === all)
      }
    }

  test("a null beside an event time in a struct does not change the age of the struct") {
    val events = MemoryStream[(Int, Timestamp, Timestamp)]
    val df = events.toDF().toDF("k", "t", "u").withWatermark("t", "0 seconds").withWatermark("u", "0 seconds")
      .selectExpr("k", "t", "struct(u, t) AS s")
      .groupBy(window($"t", "10 minutes"), $"k", $"s").count()
      .selectExpr("k", "s.t", "s.u")
      .dropDuplicates("k", "t")
    val steps = times.zipWithIndex.map { case ((first, second), step) =>
      () => { events.addData((step, at(first), if (step % 2 == 0) null else at(second))); () }
    }
    assert(rows(record("append", df.select($"k"), steps)) === all)
  }

  for (earlier <- Seq("t", "u"); later = if (earlier == "t") "u" else "t") moreTestsIf(earlier == "u") {
    test(s"an aggregation that groups by an array of times and by a time carries both, with $earlier first") {
      assert(emitted(earlier, later) { df =>
        df.selectExpr("k", "t", "u", "array(struct(t)) AS times")
          .groupBy(window($"t", "10 minutes"), $"k", $"times", $"u").count()
          .selectExpr("k", "u", "inline(times)")
          .dropDuplicates("k", "u")
      } === all)
    }
  }

  for {
    earlier <- Seq("t", "u")
    later = if (earlier == "t") "u" else "t"
    by <- Seq("t", "u")
  } moreTestsIf(earlier != "u" || by != "t") {
    test(s"a time in a collected value and a grouping time are carried separately, with $earlier first, by $by") {
      assert(emitted(earlier, later) { df =>
        df.groupBy(window($"t", "10 minutes"), $"u").agg(expr("collect_list(struct(t, k)) AS values"))
          .selectExpr("u", "inline(values)")
          .dropDuplicates("k", earlier)
      } === all)
    }
  }
}
