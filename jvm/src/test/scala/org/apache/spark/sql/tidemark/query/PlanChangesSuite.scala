package org.apache.spark.sql.tidemark.query

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.StreamingQueryException
import org.apache.spark.sql.tidemark.support.TwoStreams

/** A query that is another one after a restart: what it remembers, as `docs/changes.md` says. */
class PlanChangesSuite extends TwoStreams {

  private def marked(df: DataFrame, key: String, delay: String = "0 seconds"): DataFrame =
    withWatermark(df, df.columns(1), delay, WatermarkOptions(key = Some(key)))

  private def minutes(watermarks: Map[String, Option[Long]]): Map[String, String] =
    watermarks.collect { case (name, Some(at)) => name -> f"${at / 3600000 % 24}%d:${at / 60000 % 60}%02d" }

  /** Runs a query for a while, and then another one on its checkpoint. */
  private def changed(before: Inputs => DataFrame, after: Inputs => DataFrame)(first: (Inputs => Step)*)(
      later: (Inputs => Step)*)(check: Recorder => Unit): Unit = withTempDir { checkpoint =>
    val inputs = new Inputs
    val recorder = new Recorder("append", checkpoint)
    recorder.run(before(inputs))(first.map(_(inputs)): _*)
    recorder.run(after(inputs))(later.map(_(inputs)): _*)
    check(recorder)
  }

  testMore("a watermark with a new key starts at the lowest of the other watermarks") {
    def query(key: String)(in: Inputs) = counted(marked(in.plain, key), "ta").union(counted(in.b, "tb"))
    changed(query("x"), query("y"))(_.step(1 -> "12:00")(1 -> "10:31"))(_.step(1 -> "11:00")(1 -> "10:35")) { run =>
      // That `x` was at 12:00 is not forgotten: it may get its name back.
      assert(minutes(watermarks(run)) === Map("x" -> "12:00", "y" -> "11:00", "tb" -> "10:35"))
      assert(late(run) === 0)
    }
  }

  testMore("a watermark that gets its old key back resumes where it was under that key") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query(key: String) = counted(marked(inputs.plain, key), "ta").union(counted(inputs.b, "tb"))
      recorder.run(query("x"))(inputs.step(1 -> "12:00")(1 -> "10:31"))
      recorder.run(query("y"))(inputs.step()(1 -> "10:35"))
      assert(minutes(watermarks(recorder)) === Map("x" -> "12:00", "y" -> "10:31", "tb" -> "10:35"))
      recorder.run(query("x"))(inputs.step(1 -> "11:00")())
      assert(minutes(watermarks(recorder)) === Map("x" -> "12:00", "y" -> "10:31", "tb" -> "10:35"))
      assert(late(recorder) === 1)
    }
  }

  private def twice(keys: (String, String)*)(in: Inputs): DataFrame =
    counted(keys.map { case (key, delay) => marked(in.plain, key, delay) }.reduce(_ union _), "ta")

  /** The second one above the first. */
  private def above(keys: (String, String)*)(in: Inputs): DataFrame =
    counted(keys.foldLeft(in.plain) { case (df, (key, delay)) => marked(df, key, delay) }, "ta")

  test("a watermark that is added to a query starts at the lowest of the other watermarks") {
    changed(above("x" -> "0 seconds"), above("x" -> "0 seconds", "y" -> "1 hour"))(_.step(1 -> "10:31")())(
      _.step(1 -> "10:50")(),
      _.step(1 -> "12:01")()) { run =>
      assert(minutes(watermarks(run)) === Map("x" -> "12:01", "y" -> "11:01"))
      assert(rows(run.batches) === Seq("[ta,10:30,1]", "[ta,10:50,1]"))
    }
  }

  test("a watermark that is removed from a query no longer holds the other watermarks back") {
    changed(above("x" -> "0 seconds", "y" -> "1 hour"), above("x" -> "0 seconds"))(_.step(1 -> "11:00")())(
      _.step(1 -> "11:11")()) { run =>
      assert(minutes(watermarks(run)) === Map("x" -> "11:11", "y" -> "10:00"))
      assert(rows(run.batches) === Seq("[ta,11:00,1]"))
      assert(run.batches.last.eventTime("watermark") === "2024-03-01T11:11:00.000Z")
    }
  }

  testMore("watermarks with keys keep their values when they change places") {
    val (x, y) = ("x" -> "0 seconds", "y" -> "1 hour")
    changed(twice(x, y), twice(y, x))(_.step(1 -> "11:00")())(_.step(1 -> "11:30")()) { run =>
      assert(minutes(watermarks(run)) === Map("x" -> "11:30", "y" -> "10:30"))
    }
  }

  testMore("watermarks with the same name are told apart by their positions in the query") {
    def query(delays: String*)(in: Inputs) =
      counted(delays.map(delay => in.plain.withWatermark("ta", delay)).reduce(_ union _), "ta")
    changed(query("0 seconds", "1 hour"), query("1 hour", "0 seconds"))(_.step(1 -> "11:00")())(
      _.step(1 -> "11:01")()) { run =>
      // Neither goes back: the first had been at 11:00, and has a delay now.
      assert(minutes(watermarks(run)) === Map("ta" -> "11:00", "ta#1" -> "11:01"))
    }
  }

  test("when inputs change places, Spark assigns state and offsets by position, and Tidemark watermarks by key") {
    def counts(in: Inputs) = Seq(counted(marked(in.plain, "x"), "ta"), counted(in.b, "tb"))
    changed(counts(_).reduce(_ union _), counts(_).reverse.reduce(_ union _))(_.step(1 -> "11:00")(1 -> "10:31"))(
      _.step(1 -> "11:11")(1 -> "10:41")) { run =>
      assert(minutes(watermarks(run)) === Map("x" -> "11:11", "tb" -> "10:41"))
      // What had been counted of `tb` is in the state of `ta` now, and the other way round.
      assert(rows(run.batches) === Seq("[ta,10:30,1]"))
      assert(late(run) === 0)
    }
  }

  private def delayed(delay: String)(in: Inputs): DataFrame = counted(in.plain.withWatermark("ta", delay), "ta")

  testMore("a longer delay holds the watermark where it is until event times exceed it by that delay") {
    changed(delayed("0 seconds"), delayed("1 hour"))(_.step(1 -> "11:00")())(
      _.step(1 -> "11:30", 1 -> "10:50", 1 -> "11:00")()) { run =>
      assert(minutes(watermarks(run)) === Map("ta" -> "11:00"))
      assert(late(run) === 1)
    }
  }

  testMore("a shorter delay takes effect with the next row") {
    changed(delayed("1 hour"), delayed("0 seconds"))(_.step(1 -> "11:00")())(_.step()(), _.step(1 -> "10:30")()) {
      run =>
        assert(minutes(watermarks(run)) === Map("ta" -> "10:30"))
        assert(rows(run.batches) === Nil)
    }
  }

  private def split(by: Int*)(in: Inputs): DataFrame =
    counted(
      withWatermark(in.plain, "ta", "0 seconds", WatermarkOptions(splitBy = SplitBy(by.map(col("a") % _)))),
      "ta")

  test("an input that is split differently keeps its watermark and waits for none of its old splits") {
    for (by <- Seq(Seq(3), Nil))
      changed(split(2), split(by: _*))(_.step(0 -> "11:00", 1 -> "10:31")())(_.step(0 -> "11:30")()) { run =>
        assert(minutes(watermarks(run)) === Map("ta" -> "11:30"), s"split by $by")
      }
  }

  testMore("an input that is split for the first time keeps its watermark") {
    changed(split(), split(2))(_.step(0 -> "11:00")())(_.step(1 -> "10:31", 0 -> "11:30")(), _.step(1 -> "11:10")()) {
      run => assert(minutes(watermarks(run)) === Map("ta" -> "11:10"))
    }
  }

  testMore("a newly expected split holds the watermark, and a split that is no longer expected still counts as one") {
    def query(expected: Int*)(in: Inputs) = counted(
      withWatermark(
        in.plain,
        "ta",
        "0 seconds",
        WatermarkOptions(splitBy =
          SplitBy(Seq(col("a")), expected = expected.map(value => Seq(Some(value.toString)))))),
      "ta")
    changed(query(), query(2))(_.step(1 -> "11:00")())(_.step(1 -> "11:30")()) { run =>
      assert(minutes(watermarks(run)) === Map("ta" -> "11:00"))
    }
    changed(query(1, 2), query(1))(_.step(1 -> "11:00")())(_.step(1 -> "11:30")()) { run =>
      assert(minutes(watermarks(run)) === Map())
    }
  }

  testMore("Spark refuses a restart with a different number of inputs or different grouping keys") {
    for (after <- Seq[Inputs => DataFrame](
        in => counted(in.a, "ta").union(counted(in.b, "tb")),
        in => in.a.groupBy(window(col("ta"), "10 minutes").as("w"), col("a")).count().select("a", "w.start", "count")))
      intercept[StreamingQueryException](changed(in => counted(in.a, "ta"), after)(_.step(1 -> "11:00")())(
        _.step(1 -> "11:30")())(_ => ()))
  }
}
