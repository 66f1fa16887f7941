package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.SilenceTest

/** All devices of an input are silent for a while and then come back, one of them an hour behind the others. */
class PauseOfAllSuite extends SilenceTest {
  import testImplicits._

  private type Readings = MemoryStream[(String, Timestamp)]

  private val twelveSeconds = WatermarkOptions(splitBy = SplitBy($"device"), idle = Idle("12 seconds"))

  /** Counts by the minute. */
  private def perMinute(options: WatermarkOptions): (Readings, DataFrame) = {
    val (stream, df) = readings
    val counts =
      withWatermark(df, "time", "0 seconds", options).groupBy(window($"time", "1 minute").as("w"), $"device").count()
    stream -> counts.select($"device", $"count")
  }

  private def device(number: Int) = s"device $number"

  /** What a device says in its nth minute; the last is an hour behind. */
  private def row(number: Int, minute: Int): (String, Timestamp) =
    device(number) -> at(f"${if (number == 4) 10 else 11}%d:$minute%02d")

  /** In one trigger. */
  private def say(to: Readings, minute: Int, devices: Int*): Seq[StreamAction] =
    Seq(AddData(to, devices.map(row(_, minute)): _*), second)

  private def allSay(to: Readings, minutes: Range): Seq[StreamAction] = minutes.flatMap(say(to, _, 0 until 5: _*))

  /** One after the other, the one that is behind last, and then all together. */
  private def returning(to: Readings): Seq[StreamAction] = (0 until 5).flatMap(number => say(to, 10, number)) ++
    allSay(to, 11 to 24)

  /** Of the five when they return, since this run began. */
  private def lost(expected: Long): StreamAction = Execute { query =>
    assert(watermarksOf(query).view.get.lateRows.values.map(_.all.rows).sum === expected)
  }

  private val moments = Seq[(String, Seq[StreamAction])](
    "a pause of all devices" -> seconds(18),
    "a pause of all devices with a restart in it" ->
      (seconds(9) ++ Seq(StopStream, Execute(_ => moveWithin(3600000)), StartStream()) ++ seconds(18)))

  for {
    (name, pause) <- moments
    onReturn <- Seq("hold", "catch_up")
  } moreTestsIf(onReturn != "hold") {
    test(s"$name loses no row of a device that lags, with on_return=$onReturn") {
      val (stream, df) = perMinute(twelveSeconds.copy(idle = twelveSeconds.idle.copy(onReturn = Some(onReturn))))
      run(df)(allSay(stream, 0 to 9) ++ pause ++ returning(stream) ++ Seq(
        lost(0),
        originsAre("time" -> Some(millis("10:24")))): _*)
    }
  }

  // The watermark is at 11:09 before the first device returns.
  for ((onReturn, rows) <- Seq("hold" -> 15, "catch_up" -> 15))
    testMore(
      s"a pause of all devices with when_all=rise makes rows of returning devices late, with on_return=$onReturn") {
      val (stream, df) =
        perMinute(twelveSeconds.copy(idle = twelveSeconds.idle.copy(whenAll = Some("rise"), onReturn = Some(onReturn))))
      run(df)(allSay(stream, 0 to 9) ++ seconds(18) ++ returning(stream) :+ lost(rows.toLong): _*)
    }

  test("after a kill, the rerun batch ends the pause of all devices again") {
    withTempDir { checkpoint =>
      val (stream, df) = perMinute(twelveSeconds)
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      var last = 0L
      run(df)(
        start +:
          (allSay(stream, 0 to 9) ++ seconds(18) ++ say(stream, 10, 0) ++ Seq(
            Execute(query => last = watermarksOf(query).view.get.snapshot.entry.batch),
            StopStream,
            Execute { _ =>
              setBack(checkpoint, last)
              moveWithin(3600000)
            },
            start) ++ (1 until 5).flatMap(number => say(stream, 10, number)) ++ allSay(stream, 11 to 24) ++ Seq(
            lost(0),
            originsAre("time" -> Some(millis("10:24"))))): _*)
    }
  }

  test("a union advances with its other input during a pause, and no device is idle after the pause") {
    val (stream, df) = readings
    val (other, loud) = readings
    val both = withWatermark(df, "time", "0 seconds", twelveSeconds.copy(key = Some("devices")))
      .union(withWatermark(loud, "time", "0 seconds", WatermarkOptions(key = Some("loud"))))
    def says(time: String) = more(other, "loud" -> time)
    def isIdle(expected: Boolean) = Execute { query =>
      val now = watermarksOf(query)
      val name = now.origins.names.find(_.toString == "devices").get
      assert(now.view.get.snapshot.entry.standing.origin(name).isIdle === expected)
    }
    run(counted(both))(
      allSay(stream, 0 to 2) ++ says("10:35") ++ Seq(CheckNewAnswer(), isIdle(false)) ++
        seconds(12) ++ Seq(second, isIdle(true), CheckNewAnswer(("10:00", 3L))) ++ says("10:45") ++
        say(stream, 46, 0) ++ Seq(
          second,
          isIdle(false),
          originsAre(
            "devices" -> Some(millis("10:02")),
            "loud" -> Some(millis("10:45")))): _*)
  }

  testMore("a device without rows becomes idle even when triggers are farther apart than the idle time") {
    val (stream, df) = perMinute(twelveSeconds)
    val slowly = (1 to 5).flatMap(minute =>
      Seq(AddData(stream, (0 until 4).map(row(_, minute)): _*), AdvanceManualClock(20000)))
    run(df)(allSay(stream, 0 to 0) ++ slowly :+ originsAre("time" -> Some(millis("11:05"))): _*)
  }
}
