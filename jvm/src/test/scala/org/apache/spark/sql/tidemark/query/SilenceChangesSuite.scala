package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import io.tidemark.{SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.SilenceTest

/** Idle settings that are others after a restart: they count from then on, as `docs/changes.md` says. And times in which
  * the query did not listen.
  */
class SilenceChangesSuite extends SilenceTest {
  import testImplicits._

  // Settings of a test's second start stay set, and are removed here.
  override protected def afterEach(): Unit = {
    TidemarkConf.all.foreach(conf => spark.conf.unset(conf.key))
    super.afterEach()
  }

  private val idle = TidemarkConf.IdleAfter -> "10 seconds"

  private def splitByDevice: (MemoryStream[(String, Timestamp)], DataFrame) = {
    val (stream, df) = readings
    stream -> counted(withWatermark(df, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy($"device"))))
  }

  private def startWith(settings: (TidemarkConf[_], String)*): StreamAction =
    StartStream(additionalConfs = settings.map { case (conf, value) => conf.key -> value }.toMap)

  private def reached(time: String): StreamAction = originsAre("time" -> Some(millis(time)))

  test("idle_after that is set for the first time also counts the time without rows before the restart") {
    val (stream, query) = splitByDevice
    run(query)(
      more(stream, "a" -> "10:00", "b" -> "10:05") ++ minutes(stream, 11 to 24) ++
        Seq(reached("10:05"), StopStream, startWith(TidemarkConf.IdleAfter -> "10 seconds")) ++
        minutes(stream, 25 to 26) ++ Seq(reached("10:26")): _*)
  }

  testMore("after idle_after is shortened and then removed, the watermark waits for all splits and does not go back") {
    val (stream, query) = splitByDevice
    run(query)(
      Seq(startWith(TidemarkConf.IdleAfter -> "1 hour")) ++ more(stream, "a" -> "10:00", "b" -> "10:05") ++
        minutes(stream, 11 to 24) ++
        Seq(reached("10:05"), StopStream, startWith(TidemarkConf.IdleAfter -> "10 seconds")) ++
        minutes(stream, 25 to 36) ++
        Seq(reached("10:36"), StopStream, startWith(TidemarkConf.IdleAfter -> "none")) ++
        minutes(stream, 37 to 39) ++ Seq(reached("10:36")) ++
        more(stream, "b" -> "10:38") ++ Seq(reached("10:38")): _*)
  }

  testMore(
    "a change of on_return to hold applies to splits that return later, not to a split that is catching up") {
    val (stream, query) = splitByDevice
    run(query)(
      Seq(startWith(idle, TidemarkConf.OnReturnOfSplit -> "catch_up")) ++
        more(stream, "a" -> "10:00", "b" -> "10:05") ++ minutes(stream, 11 to 24) ++
        more(stream, "b" -> "10:12") ++
        Seq(StopStream, startWith(idle, TidemarkConf.OnReturnOfSplit -> "hold")) ++
        minutes(stream, 25 to 26) ++ Seq(reached("10:26")) ++
        // Split "b" has now caught up, becomes idle, and returns behind the watermark.
        more(stream, "b" -> "10:27") ++ minutes(stream, 28 to 40) ++ Seq(reached("10:40")) ++
        more(stream, "b" -> "10:30") ++ minutes(stream, 41 to 43) ++ Seq(reached("10:40")): _*)
  }

  testMore("the last windows of an idle input close by the clock after when_all is set to advance") {
    val (stream, df) = readings
    // The event time is near the clock, which begins at 0.
    val early = new Timestamp(5000)
    run(counted(df.withWatermark("time", "0 seconds")))(
      startWith(idle),
      AddData(stream, "a" -> early),
      second,
      AdvanceManualClock(700000),
      AdvanceManualClock(10000),
      CheckNewAnswer(),
      StopStream,
      startWith(idle, TidemarkConf.WhenAllIdle -> "advance"),
      // A restarted query runs no batch before it has a row.
      AddData(stream, "a" -> early),
      second,
      AdvanceManualClock(10000),
      AdvanceManualClock(10000),
      AdvanceManualClock(10000),
      CheckNewAnswer(("00:00", 2L)))
  }

  testMore("max_ahead does not undo an earlier advance of the watermark, but ignores the next row too far ahead") {
    val (stream, df) = readings
    def ahead(minutes: Long) = new Timestamp(minutes * 60000)
    def comes(minutes: Long, reached: Long) =
      Seq(AddData(stream, "a" -> ahead(minutes)), second, originsAre("time" -> Some(reached * 60000)))
    run(counted(df.withWatermark("time", "0 seconds")))(
      comes(60, reached = 60) ++
        Seq(StopStream, startWith(TidemarkConf.MaxAhead -> "90 minutes")) ++
        comes(120, reached = 60) ++ comes(80, reached = 80) ++
        Seq(StopStream, startWith(TidemarkConf.MaxAhead -> "none")) ++
        comes(120, reached = 120): _*)
  }

  testMore("an idle join side follows the other side after at_join is set to follow") {
    val (shown, a) = readings
    val (clicked, b) = readings
    val left = a.toDF("ad", "shown").withWatermark("shown", "0 seconds")
    val right = b.toDF("cad", "clicked").withWatermark("clicked", "0 seconds")
    val join = left.join(right, expr("ad = cad AND clicked BETWEEN shown AND shown + INTERVAL 2 MINUTES"), "left_outer")
    def show(ads: (String, String)*) = more(shown, ads: _*)
    run(join.select("ad", "cad"))(
      Seq(startWith(idle)) ++ Seq(AddData(clicked, "z" -> at("10:00"))) ++ show("x" -> "10:00", "y" -> "12:00") ++
        (1 to 12).flatMap(minute => show("y" -> f"12:$minute%02d")) ++
        Seq(CheckNewAnswer(), StopStream, startWith(idle, TidemarkConf.IdleAtJoin -> "follow")) ++
        show("y" -> "12:20") ++ show("y" -> "12:21") ++ Seq(
          CheckNewAnswer(("x", null), Seq.fill(13)(("y", null)): _*)): _*)
  }

  private def union: (MemoryStream[(String, Timestamp)], MemoryStream[(String, Timestamp)], DataFrame) = {
    val (loud, a) = readings
    val (silent, b) = readings
    (loud, silent, counted(a.withWatermark("time", "0 seconds").union(b.withWatermark("time", "0 seconds"))))
  }

  private def hourLater: StreamAction = Execute(_ => moveWithin(3600000))

  test("the time while Spark alone ran makes no input idle when Tidemark is enabled again") {
    val (loud, silent, query) = union
    run(query)(
      Seq(startWith(TidemarkConf.Enabled -> "true", idle), AddData(silent, "b" -> at("10:05"))) ++
        more(loud, "a" -> "10:00", "a" -> "10:35") ++ Seq(StopStream, startWith(TidemarkConf.Enabled -> "false")) ++
        more(loud, "a" -> "10:36") ++ Seq(AdvanceManualClock(3600000)) ++ more(loud, "a" -> "10:37") ++
        Seq(StopStream, startWith(TidemarkConf.Enabled -> "true", idle)) ++ more(loud, "a" -> "10:38") ++ Seq(second) ++
        Seq(CheckNewAnswer()) ++ minutes(loud, 39 to 49) ++
        Seq(second, CheckNewAnswer(("10:00", 2L), ("10:30", 5L))): _*)
  }

  testMore("a run that fails before its first batch does not turn the time before it into idle time") {
    val (loud, silent, query) = union
    run(query)(
      Seq(startWith(idle), AddData(silent, "b" -> at("10:05"))) ++ more(loud, "a" -> "10:00", "a" -> "10:35") ++ Seq(
        StopStream,
        hourLater,
        startWith(idle, TidemarkConf.OnReturnOfSplit -> "whatever"),
        AddData(loud, "a" -> at("10:36")),
        Execute(_ => moveWithin(1000)),
        expectRefusal("INVALID_SETTING", "setting" -> TidemarkConf.OnReturnOfSplit.key, "value" -> "whatever"),
        hourLater,
        startWith(idle, TidemarkConf.OnReturnOfSplit -> "hold"),
        second) ++ more(loud, "a" -> "10:37") ++ Seq(second, CheckNewAnswer()) ++
        minutes(loud, 38 to 48) ++
        Seq(second, CheckNewAnswer(("10:00", 2L), ("10:30", 5L))): _*)
  }
}
