package org.apache.spark.sql.tidemark

import io.tidemark.{TidemarkError, TidemarkException, WatermarkOptions}
import io.tidemark.core.{OnReturn, OriginRules, SplitNameTable, WhenIdle}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame

/** What a watermark is told, by options of its own or by the session's settings. */
class WatermarkOptionsSuite extends SilenceTest {
  import testImplicits._

  private val allOptions = WatermarkOptions(
    splitBy = Seq($"device"),
    idleAfter = Some("10 seconds"),
    expectedSplits = Seq(Seq(Some("c")), Seq(None)),
    onReturn = Some("catch_up"),
    whenIdle = Some("advance"),
    maxAhead = Some("1 day"),
    joinIdle = Some("follow"))

  private val allSettings = Seq(
    "spark.tidemark.idleAfter" -> "10 seconds",
    "spark.tidemark.onReturn" -> "catch_up",
    "spark.tidemark.whenIdle" -> "advance",
    "spark.tidemark.maxAhead" -> "1 day",
    "spark.tidemark.joinIdle" -> "follow")

  private val allRules = OriginRules(
    0L,
    idleAfterMillis = Some(10000L),
    onReturn = OnReturn.CatchUp,
    whenIdle = WhenIdle.Advance,
    maxAheadMillis = Some(86400000L),
    followsInJoins = true)

  test("every option reaches the watermark that it is given to, and every setting those that have none") {
    def has(df: DataFrame)(check: OriginRules => Unit): Unit =
      run(counted(df))(second, Execute(query => check(keyed(query).origins.all.head.rules)))
    has(withWatermark(readings._2, "time", "0 seconds", allOptions)) { rules =>
      assert(rules.copy(splitBy = Nil, expected = Nil) === allRules)
      assert(rules.expected.map(SplitNameTable.decode(_)) === allOptions.expectedSplits)
      assert(rules.splitBy.size === 1)
    }
    withSQLConf(allSettings: _*) {
      has(readings._2.withWatermark("time", "0 seconds"))(rules => assert(rules === allRules))
    }
  }

  test("options that mean nothing are refused, by name") {
    val df = readings._2
    def refusal(options: WatermarkOptions): TidemarkError =
      intercept[TidemarkException](withWatermark(df, "time", "0 seconds", options)).error
    val device = WatermarkOptions(splitBy = Seq($"device"))
    for ((option, value, options) <- Seq(
        ("idle_after", "0 seconds", device.copy(idleAfter = Some("0 seconds"))),
        ("idle_after", "-1 second", device.copy(idleAfter = Some("-1 second"))),
        ("max_ahead", "soon", device.copy(maxAhead = Some("soon"))),
        ("on_return", "keep", device.copy(onReturn = Some("keep"))),
        ("when_idle", "go", device.copy(whenIdle = Some("go"))),
        ("join_idle", "", device.copy(joinIdle = Some(""))))) {
      val error = withClue(s"$option '$value'")(refusal(options))
      assert(error.code === "INVALID_OPTION" && error.message.contains(option) && error.message.contains(value), error)
    }
    assert(refusal(device.copy(expectedSplits = Seq(Seq(Some("a"), Some("b"))))).code === "INVALID_SPLITS")
  }
}
