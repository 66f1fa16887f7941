package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import io.tidemark.WatermarkOptions
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.SilenceTest

/** Which inputs are left out of a watermark because they say nothing, by a clock that the test moves (ms from 0). */
class SilenceSuite extends SilenceTest {
  import testImplicits._

  /** Two inputs, of which the second may become idle, and their union. */
  private def united: (MemoryStream[(String, Timestamp)], MemoryStream[(String, Timestamp)], DataFrame) = {
    val (loud, a) = readings
    val (silent, b) = readings
    (loud, silent, a.withWatermark("time", "0 seconds").union(withWatermark(b, "time", "0 seconds", tenSeconds)))
  }

  test("a union leaves out an idle input, and waits for the input again when it returns") {
    val (loud, silent, both) = united
    isLeftOutWhileSilent(both, loud, silent)
  }

  test("the watermark of an operator without event time does not go back when an idle input returns") {
    val (loud, silent, both) = united
    run(both.select("device").limit(100))(
      Seq(AddData(loud, "a" -> at("10:35")), AddData(silent, "b" -> at("10:05")), second) ++ seconds(8) ++ Seq(
        AddData(loud, "a" -> at("10:40")),
        second,
        second,
        CheckNewAnswer("a", "a", "b"),
        AddData(silent, "b" -> at("10:10")),
        second,
        AddData(loud, "a" -> at("10:45")),
        second,
        StopStream,
        StartStream(),
        AddData(silent, "b" -> at("10:11")),
        second,
        CheckNewAnswer("b", "a", "b")): _*)
  }

  test("an input that never had a row is left out when its idle time has passed since the first batch") {
    val (loud, _, both) = united
    run(counted(both))(
      Seq(AddData(loud, "a" -> at("10:00"), "a" -> at("10:35")), second) ++ seconds(9) ++ Seq(
        CheckNewAnswer(),
        second,
        CheckNewAnswer(("10:00", 1L))): _*)
  }

  test("a session's idle.after setting applies to plain watermarks") {
    withSQLConf("spark.tidemark.idle.after" -> "10 seconds") {
      val (loud, a) = readings
      val (silent, b) = readings
      run(counted(a.withWatermark("time", "0 seconds").union(b.withWatermark("time", "0 seconds"))))(
        Seq(AddData(loud, "a" -> at("10:35")), AddData(silent, "b" -> at("10:05")), second) ++ seconds(8) ++ Seq(
          AddData(loud, "a" -> at("10:36")),
          second,
          CheckNewAnswer(),
          second,
          CheckNewAnswer(("10:00", 1L))): _*)
    }
  }

  private def joined(side: WatermarkOptions)
      : (MemoryStream[(String, Timestamp)], MemoryStream[(String, Timestamp)], DataFrame) = {
    val (shown, a) = readings
    val (clicked, b) = readings
    val left = withWatermark(a.toDF("ad", "shown"), "shown", "0 seconds")
    val right = withWatermark(b.toDF("cad", "clicked"), "clicked", "0 seconds", side)
    val join = left.join(right, expr("ad = cad AND clicked BETWEEN shown AND shown + INTERVAL 2 MINUTES"), "left_outer")
    (shown, clicked, join.select("ad", "cad"))
  }

  test("a join waits for an idle side") {
    val (shown, clicked, join) = joined(tenSeconds)
    run(join)(
      Seq(AddData(shown, "x" -> at("10:00"), "y" -> at("12:00")), AddData(clicked, "z" -> at("10:00")), second) ++
        seconds(8) ++ Seq(AddData(shown, "y" -> at("12:01")), second) ++ seconds(5) :+ CheckNewAnswer(): _*)
  }

  test("an idle join side with at_join=follow has the other side's watermark, and does not go back when it returns") {
    val (shown, clicked, join) = joined(tenSeconds.copy(idle = tenSeconds.idle.copy(atJoin = Some("follow"))))
    run(join)(
      Seq(AddData(shown, "x" -> at("10:00"), "y" -> at("12:00")), AddData(clicked, "z" -> at("10:00")), second) ++
        seconds(8) ++ Seq(
          AddData(shown, "w" -> at("12:01")),
          second,
          CheckNewAnswer(),
          second,
          CheckNewAnswer(("x", null)),
          // The row is late by the watermark that the side follows, and still late a batch later: the floor is kept.
          AddData(clicked, "y" -> at("11:59"), "y" -> at("12:02")),
          second,
          CheckNewAnswer(("y", "y")),
          AddData(clicked, "w" -> at("12:00")),
          second,
          CheckNewAnswer()): _*)
  }

  test("the last windows of an idle input close by the clock with when_all=advance") {
    val (stream, df) = readings
    val options = tenSeconds.copy(idle = tenSeconds.idle.copy(whenAll = Some("advance")))
    // Event times near the clock, which begins at 0.
    val early = new Timestamp(5000)
    run(counted(withWatermark(df, "time", "0 seconds", options)))(
      AddData(stream, "a" -> early),
      second,
      AdvanceManualClock(300000),
      CheckNewAnswer(),
      AdvanceManualClock(310000),
      CheckNewAnswer(("00:00", 1L)))
  }

  test("an input with only null event times becomes idle") {
    val (loud, nulls, both) = united
    def more(time: String) = Seq(AddData(loud, "a" -> at(time)), AddData(nulls, "b" -> null), second)
    run(counted(both))(
      more("10:00") ++ more("10:35") ++ Seq(CheckNewAnswer()) ++ seconds(8) ++ more("10:36") ++ Seq(
        second,
        CheckNewAnswer(("10:00", 1L))): _*)
  }

}
