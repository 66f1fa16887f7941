package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{MarkedColumns, RecordedRuns}

/** Event time that goes on inside a struct or an array, and is taken out again further on. */
class TimesInsideValuesSuite extends RecordedRuns with MarkedColumns {
  import testImplicits._

  for ((name, value) <- Seq("max(struct(t, k))" -> "m.*", "collect_list(struct(t, k))" -> "inline(m)"))
    moreTestsIf(value == "inline(m)") {
      test(s"a row that is on time is not dropped by a later operator when its event time is inside $name") {
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
    }

  test("an event time inside a struct is carried through a join") {
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

  test("a query gets a note when it keeps an event time inside a value of unknown age") {
    val (left, a) = keyedRows("a", "ta")
    val (_, b) = keyedRows("b", "tb")
    val whole = a.withWatermark("ta", "0 seconds").select($"a", $"ta", array(struct($"a", $"ta")).as("all"))
    val joined =
      whole.join(b.withWatermark("tb", "0 seconds"), expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 1 HOUR"))
    testStream(joined.selectExpr("inline(all)").dropDuplicates("a", "ta"))(
      AddData(left, 1 -> at("10:00")),
      ProcessAllAvailable(),
      Execute(query => assert(watermarksOf(query).view.get.hints.map(_.code) === Seq("TIME_INSIDE_STATE"))))
  }

  test("an event time inside a grouping struct is carried to the next operator") {
    val (events, df) = keyedRows("k", "t")
    val grouped = df.withWatermark("t", "0 seconds").selectExpr("t", "struct(t, k) AS s")
      .groupBy(window($"t", "10 minutes"), $"s").count()
      .select("s.*").dropDuplicates("k", "t").select($"k")
    val steps = Seq("10:01", "10:02", "10:11", "10:25", "11:00").zipWithIndex.map { case (time, step) =>
      () => { events.addData(step -> at(time)); () }
    }
    assert(rows(record("append", grouped, steps)) === Seq("[0]", "[1]", "[2]", "[3]"))
  }

  test("the largest struct whose event time no operator reads runs on a checkpoint of stock Spark") {
    withTempDir { checkpoint =>
      val (events, df) = keyedRows("k", "t")
      val latest = df.withWatermark("t", "0 seconds")
        .groupBy(window($"t", "10 minutes")).agg(expr("max(struct(t, k)) AS m")).select("m.k")
      val recorder = new Recorder("append", checkpoint)
      stock(recorder.run(latest)(() => { events.addData(1 -> at("10:00"), 2 -> at("10:05")); () }))
      recorder.run(latest)(() => { events.addData(3 -> at("10:30")); () })
      assert(rows(recorder.batches) === Seq("[2]"))
    }
  }
}
