package org.apache.spark.sql.tidemark

import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.OutputMode

/** Event time that goes on inside a struct or an array, and is taken out again further on. */
class TimesInsideValuesSuite extends RecordedRuns with MarkedColumns {
  import testImplicits._

  for ((name, value) <- Seq("max(struct(t, k))" -> "m.*", "collect_list(struct(t, k))" -> "inline(m)"))
    test(s"a row that is on time is not lost further on where its time is inside a value: $name") {
      val (events, df) = keyedRows("k", "t")
      val latest = df.withWatermark("t", "0 seconds")
        .groupBy(window($"t", "10 minutes"), $"k").agg(expr(name).as("m"))
        .selectExpr(value)
        .dropDuplicates("k", "t")
      val steps = Seq("10:01", "10:02", "10:11", "10:25", "11:00").zipWithIndex.map { case (time, step) =>
        () => { events.addData(step -> at(time)); () }
      }
      val out = record("append", latest.select($"k"), steps)
      assert(rows(out) === Seq("[0]", "[1]", "[2]", "[3]"))
      assert(rows(stock(record("append", latest.select($"k"), steps))).isEmpty)
    }

  test("a time inside a struct that a join keeps is carried") {
    val (left, a) = keyedRows("a", "ta")
    val (right, b) = keyedRows("b", "tb")
    val whole = a.withWatermark("ta", "0 seconds").select($"a", $"ta", struct($"a", $"ta").as("s"))
    val out = whole.join(
      b.withWatermark("tb", "0 seconds"),
      expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 2 HOURS"),
      "left_outer").selectExpr("s.a", "s.ta").dropDuplicates("a", "ta").select($"a")
    val batches = record(
      "append",
      out,
      Seq(
        () => { left.addData(1 -> at("10:00"), 2 -> at("10:05")); right.addData(1 -> at("10:00")); () },
        () => { left.addData(3 -> at("11:30")); right.addData(9 -> at("11:30")); () },
        () => { right.addData(2 -> at("12:00")); () },
        () => { left.addData(9 -> at("18:00")); right.addData(9 -> at("18:00")); () }))
    assert(rows(batches).filter(_ != "[9]") === Seq("[1]", "[2]", "[3]"))
  }

  test("a time inside a value of which nobody can tell the age is noted at the start") {
    val (events, df) = keyedRows("k", "t")
    val latest = df.withWatermark("t", "0 seconds").groupBy("k").agg(expr("max(struct(t, k)) AS m"))
    testStream(latest, OutputMode.Update)(
      AddData(events, 1 -> at("10:00")),
      CheckNewAnswer((1, (at("10:00"), 1))),
      Execute(query => assert(keyed(query).notes.map(_.code) === Seq("TIME_INSIDE_STATE"))))
  }
}
