package org.apache.spark.sql.tidemark.functions

import scala.jdk.CollectionConverters._

import io.tidemark.{SplitBy, TidemarkConf, TidemarkError, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** What Tidemark will not run, or only with a hint. */
class RefusalsSuite extends RefusalsTest {
  import testImplicits._

  test("a query that uses one key on two columns is refused") {
    val ((left, a), (_, b)) = (bare("ta"), bare("tb"))
    val union = counted(withKey(a, "ta", "orders").withWatermark("ta", "1 minute"), "ta")
      .union(counted(withKey(b, "tb", "orders").withWatermark("tb", "1 minute"), "tb"))
    testStream(union)(
      AddData(left, 1 -> at("10:00")),
      expectRefusal("DUPLICATE_KEY", "key" -> "orders", "columns" -> "ta, tb"))
  }

  private def countedBy(key: String)(df: DataFrame, delay: String = "0 seconds") =
    counted(withKey(df, "t", key).withWatermark("t", delay), "t").select($"count")

  test("a query that uses one key on two inputs with the same column name is refused") {
    for (delay <- Seq("0 seconds", "1 minute")) {
      val ((left, a), (_, b)) = (bare("t"), bare("t"))
      val of = countedBy("orders") _
      testStream(of(a, "0 seconds").union(of(b, delay)))(
        AddData(left, 1 -> at("10:00")),
        expectRefusal("DUPLICATE_KEY", "key" -> "orders", "columns" -> "t, t"))
    }
  }

  test(
    "two inputs with one column name have two watermarks, and so has an input with a key that is analyzed twice") {
    val ((left, a), (right, b)) = (bare("t"), bare("t"))
    def plain(df: DataFrame) = counted(df.withWatermark("t", "0 seconds"), "t").select($"count")
    testStream(plain(a).union(plain(b)))(
      MultiAddData(left, 1 -> at("10:00"))(right, 1 -> at("11:00")),
      ProcessAllAvailable(),
      originsAre("t" -> Some(millis("10:00")), "t#1" -> Some(millis("11:00"))))
    def keyed = withWatermark(a, "t", "0 seconds", WatermarkOptions(key = Some("orders"), splitBy = SplitBy($"id")))
    testStream(counted(keyed, "t").select($"count").union(counted(keyed, "t").select($"count")))(
      AddData(left, 1 -> at("10:00")),
      ProcessAllAvailable(),
      originsAre("orders" -> Some(millis("10:00")), "orders#1" -> Some(millis("10:00"))))
  }

  test("a key that equals the generated name of another watermark is refused") {
    val ((left, a), (_, b), (_, c)) = (bare("t"), bare("t"), bare("t"))
    val plain = Seq(a, b).map(df => counted(df.withWatermark("t", "0 seconds"), "t").select($"count"))
    testStream(plain.reduce(_.union(_)).union(countedBy("t#1")(c)))(
      AddData(left, 1 -> at("10:00")),
      expectRefusal("DUPLICATE_KEY", "key" -> "t#1", "column" -> "t"))
  }

  test("a blank key is refused") {
    val (_, a) = bare("t")
    for (key <- Seq("", " "))
      assertRefused("INVALID_OPTION", "option" -> "key", "value" -> key, "allowed" -> "a name") {
        withWatermark(a, "t", "0 seconds", WatermarkOptions(key = Some(key)))
      }
  }

  test("a split expression that does not give one value for each row is refused") {
    val (_, a) = bare("t")
    for (split <- Seq(explode(array($"id")), explode(array($"id")).cast("string"), count("*"), max($"id").over())) {
      val refused = refusalOf(withWatermark(a, "t", "0 seconds", WatermarkOptions(splitBy = SplitBy(split))))
      assert(refused.error.isInstanceOf[TidemarkError.SplitNotOfOneRow])
    }
  }

  test("the report hints that complete mode drops no row and closes no window") {
    val (stream, df) = timed("t", "0 seconds")
    def hinted(mode: OutputMode, codes: String*) = testStream(counted(df, "t").select($"count"), mode)(
      AddData(stream, 1 -> at("10:00")),
      ProcessAllAvailable(),
      report { json =>
        val hints = json.get("hints").elements.asScala.toSeq
        assert(hints.map(_.get("code").asText) === codes)
        assert(hints.forall(_.get("parameters").get("operator").asText == "aggregation #0"))
      })
    hinted(OutputMode.Complete, "COMPLETE_MODE")
    hinted(OutputMode.Update)
  }

  test("a query with an unknown setting does not start, and the error names the nearest setting") {
    for ((key, nearest) <- Seq("spark.tidemark.idelAfter" -> "idle.after", "Spark.tidemark.maxsplits" -> "maxSplits")) {
      val (stream, df) = timed("t", "0 seconds")
      spark.conf.set(key, "1 minute")
      try testStream(counted(df, "t"))(
          AddData(stream, 1 -> at("10:00")),
          expectRefusal("UNKNOWN_SETTING", "setting" -> key, "nearest" -> s"spark.tidemark.$nearest"))
      finally spark.conf.unset(key)
    }
  }

  test("an unknown setting is matched with the known setting that has similar words") {
    for ((key, nearest) <- Seq(
        "idleAfter" -> "idle.after",
        "idleafter" -> "idle.after",
        "onReturn" -> "idle.onReturn",
        "whenIdle" -> "idle.whenAll",
        "joinIdle" -> "idle.atJoin",
        "joinUnbounded" -> "unboundedJoin",
        "max.ahead" -> "maxAhead"))
      assert(
        TidemarkConf.mistyped(Seq(s"spark.tidemark.$key", "spark.sql.shuffle.partitions")) ===
          Some(s"spark.tidemark.$key" -> s"spark.tidemark.$nearest"))
  }

  test("a setting with an invalid value is reported with the values that it may have") {
    for ((key, value, sentence) <- Seq(
        ("idle.after", "soon", "is 'soon', but it must be none or a length of time above zero, such as 1 minute."),
        ("unboundedJoin", "no", "is 'no', but it must be spark, hold or refuse.")))
      withSQLConf(s"spark.tidemark.$key" -> value) {
        val problem = spark.sql("SELECT tidemark_settings()").head().getString(0)
        assert(new ObjectMapper().readTree(problem).get("what").asText.endsWith(sentence))
      }
    assert(spark.sql("SELECT tidemark_settings()").head().isNullAt(0))
  }

  test("a union whose inputs have event time at different column positions is refused") {
    val ((left, a), (_, b)) = (timed("ta", "0 seconds"), timed("tb", "0 seconds"))
    val times = a.select($"ta", ($"ta" + expr("INTERVAL 1 HOUR")).as("x")).union(b.select(lit(at("10:00")), $"tb"))
    // The refusal also covers a query that does not use the other time, so that the time is not in a batch's plan.
    for (df <- Seq(times, counted(times, "ta")))
      testStream(df)(
        AddData(left, 1 -> at("10:00")),
        expectRefusal(
          "UNION_WATERMARK_POSITION",
          "column" -> "ta",
          "position" -> "0",
          "input" -> "1",
          "eventTimes" -> "tb"))
  }

  test("a union leaves out an input without event time, and the report hints at it") {
    val ((left, a), (right, b)) = (timed("ta", "0 seconds"), bare("tb"))
    testStream(counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count"))(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:01")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 2L)),
      // The plan of the last batch, which had no data, has no union at all: Spark takes the empty input out of it.
      report { json =>
        val hint = json.get("hints").get(0)
        assert(hint.get("code").asText === "UNION_INPUT_LEFT_OUT")
        assert(hint.get("parameters").toString === """{"input":"1","columns":"id, ta"}""")
      })
  }

  test("a union has no event time if its first input has none, as in Spark, and the report hints at it") {
    for (enabled <- Seq(true, false)) withSQLConf(TidemarkConf.Enabled.key -> enabled.toString) {
      val ((left, a), (right, b)) = (bare("ta"), timed("tb", "0 seconds"))
      val windows = counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count")
      testStream(windows, OutputMode.Update)(
        MultiAddData(left, 1 -> at("10:00"))(right, 2 -> at("10:01"), 3 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:00", 2L), ("10:30", 1L)),
        // Nothing is late and nothing is evicted.
        AddData(right, 4 -> at("10:02")),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:00", 3L)),
        if (!enabled) ProcessAllAvailable()
        else report { json =>
          val hint = json.get("hints").get(0)
          assert(hint.get("code").asText === "UNION_INPUT_LEFT_OUT")
          assert(hint.get("parameters").toString === """{"input":"0","columns":"id, ta"}""")
        })
      val refused = intercept[AnalysisException](testStream(windows)())
      assert(refused.getCondition === "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
    }
  }

  /** A join of which neither side is ever closed, and windows behind it. */
  private def unbounded() = {
    val ((left, a), (right, b)) = (timed("ta", "0 seconds", "a"), timed("tb", "0 seconds", "b"))
    val windows = counted(a.join(b, $"a" === $"b"), "ta").select(date_format($"window.start", "HH:mm"), $"count")
    (left, right, windows)
  }

  test("a join side that never evicts state runs as in Spark, and the report hints at it") {
    val (left, right, windows) = unbounded()
    testStream(windows)(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("11:00"))(right, 1 -> at("9:00")),
      ProcessAllAvailable(),
      report { json =>
        val hints = json.get("hints")
        // The right side's time is not used after the join.
        assert(hints.size === 1)
        assert(hints.get(0).get("code").asText === "UNBOUNDED_JOIN_SIDE")
        assert(hints.get(0).get("parameters").toString === """{"join":"on a = b","side":"left"}""")
        // The value that is already set is not offered as a fix.
        val error = TidemarkError.UnboundedJoinSide("on a = b", "left")(TidemarkConf.UnboundedJoinPolicy.Spark)
        assert(hints.get(0).get("message").asText === error.message)
      },
      // The left side's time waits for the right input, as in Spark, although that evicts no state.
      CheckNewAnswer(),
      AddData(right, 1 -> at("9:30"), 2 -> at("9:30")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(right, 9 -> at("10:30")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 2L)),
      // Row 1 is emitted from the state once more and is late after the join, which is what the hint warns about.
      AddData(right, 1 -> at("10:45")),
      ProcessAllAvailable(),
      MultiAddData(left, 3 -> at("12:00"))(right, 9 -> at("12:00")),
      ProcessAllAvailable(),
      CheckNewAnswer(("11:00", 1L)))
  }

  test("windows after a join side that never evicts state do not close with unboundedJoin=hold") {
    withSQLConf(TidemarkConf.UnboundedJoin.key -> "hold") {
      val (left, right, windows) = unbounded()
      testStream(windows)(
        MultiAddData(left, 1 -> at("10:00"), 2 -> at("11:00"))(right, 1 -> at("9:00"), 2 -> at("23:00")),
        ProcessAllAvailable(),
        AddData(left, 3 -> at("23:00")),
        ProcessAllAvailable(),
        CheckNewAnswer(),
        report(json => assert(json.get("hints").get(0).get("code").asText === "UNBOUNDED_JOIN_SIDE")))
    }
  }

  test("a join side that never evicts state is refused with unboundedJoin=refuse") {
    withSQLConf(TidemarkConf.UnboundedJoin.key -> "refuse") {
      val (left, _, windows) = unbounded()
      testStream(windows)(
        AddData(left, 1 -> at("10:00")),
        expectRefusal("UNBOUNDED_JOIN_SIDE", "join" -> "on a = b", "side" -> "left"))
    }
  }
}
