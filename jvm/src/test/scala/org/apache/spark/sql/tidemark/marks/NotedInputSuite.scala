package org.apache.spark.sql.tidemark.marks

import java.sql.Timestamp

import io.tidemark.{Idle, Noted, OrderOptions, WatermarkOptions}
import io.tidemark.functions.{inOrder, timeWindow, withWatermark}

import org.apache.spark.sql.Row
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{MarkLog, NotedInputTest}

/** A watermark that follows the times that writers note. */
class NotedInputSuite extends NotedInputTest {
  import testImplicits._

  test("a window is emitted when all writers have noted its end, whatever the rows say") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      run(counted(df))(
        mark { log.alive("eu"); log.alive("us") },
        AddData(stream, ("a", at("10:05")), ("b", at("11:30"))),
        after(1000),
        CheckNewAnswer(),
        mark(log.note("eu", millis("10:10"), number(0))),
        AddData(stream, ("c", at("10:06"))),
        after(1000),
        after(1000),
        CheckNewAnswer(),
        mark(log.note("us", millis("10:10"), number(1))),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("10:00", 2L)),
        StopStream,
        StartStream(),
        // On time: no mark says that its hour is complete.
        AddData(stream, ("d", at("10:11")), ("late", at("10:09"))),
        after(1000),
        mark { log.note("eu", millis("10:20"), number(2)); log.note("us", millis("10:30"), number(9)) },
        // The first says enough, but the other is not passed.
        after(1000),
        after(1000),
        CheckNewAnswer(),
        originsAre("time" -> Some(millis("10:10"))),
        mark(log.add("us", s""""k":"end","at":1,"p":${number(2)}""")),
        until(watermarkOf("time")(_).contains(millis("10:20"))),
        after(1000),
        CheckNewAnswer(("10:10", 1L)))
    }
  }

  test("the time window of a batch is its watermark and the next time that is noted ahead") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      def clock(bound: String) = date_format(timeWindow($"time").getField(bound), "HH:mm")
      run(df.select($"id", clock("lower"), clock("upper")))(
        mark { log.note("eu", millis("10:10"), number(0)); log.note("eu", millis("10:20"), number(1)) },
        AddData(stream, ("a", at("10:05"))),
        after(1000),
        CheckNewAnswer(Row("a", null, null)),
        AddData(stream, ("b", at("10:15"))),
        after(1000),
        CheckNewAnswer(Row("b", "10:10", "10:20")),
        StopStream,
        StartStream(),
        AddData(stream, ("c", at("10:25"))),
        after(1000),
        CheckNewAnswer(Row("c", "10:20", null)))
      checkAnswer(Seq(at("10:05")).toDF("time").select(clock("lower"), clock("upper")), Row(null, null))
    }
  }

  test("writers that are expected hold the watermark, and no others count if so wanted") {
    withLog { log =>
      val (stream, df) = input(Noted(Some(log.location), expected = Seq("us"), onlyExpected = true))
      run(counted(df))(
        mark {
          log.alive("eu"); log.note("mars", millis("09:00"), number(0)); log.note("eu", millis("10:10"), number(0))
        },
        AddData(stream, ("a", at("10:05"))),
        after(1000),
        after(1000),
        originsAre("time" -> None),
        mark(log.note("us", millis("10:10"), number(0))),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("10:00", 1L)))
    }
  }

  test("a writer that has stalled by the log's own time is left out, and comes back") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location), Idle("1 minute"))
      run(counted(df))(
        mark {
          log.note("eu", millis("10:00"), number(0), at = 100); log.note("us", millis("10:01"), number(0), at = 100)
        },
        AddData(stream, ("a", at("10:05"))),
        after(200000),
        originsAre("time" -> Some(millis("10:00"))),
        mark(log.note("us", millis("10:10"), number(1), at = 60100)),
        AddData(stream, ("b", at("10:06"))),
        after(1000),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("10:00", 2L)),
        mark {
          log.note("eu", millis("10:05"), number(2), at = 60200); log.note("us", millis("10:30"), number(2), at = 60200)
        },
        AddData(stream, ("c", at("10:12"))),
        after(1000),
        after(1000),
        originsAre("time" -> Some(millis("10:10"))))
    }
  }

  test("a writer whose host has a slow clock has not stalled, and a writer with a fast clock leaves out no other") {
    withLog { log =>
      val (slow, fast) = (new MarkLog(log.folder), new MarkLog(log.folder))
      slow.aheadMillis = 600000
      fast.aheadMillis = -600000
      val (stream, df) = input(Noted(log.location), Idle("5 minutes"))
      run(counted(df))(
        mark {
          log.note("eu", millis("10:20"), number(0), at = 1000000)
          slow.note("us", millis("10:00"), number(0), at = 400000)
          fast.note("uk", millis("10:20"), number(0), at = 1600000)
        },
        AddData(stream, ("a", at("10:05"))),
        after(1010000),
        AddData(stream, ("b", at("10:06"))),
        after(1000),
        originsAre("time" -> Some(millis("10:00"))),
        // Nothing is heard of it for as long.
        mark(log.note("eu", millis("10:30"), number(0), at = 1300000)),
        mark(fast.note("uk", millis("10:30"), number(0), at = 1900000)),
        AddData(stream, ("c", at("10:07"))),
        after(300000),
        until(watermarkOf("time")(_).contains(millis("10:30"))))
    }
  }

  test("rows wait until all writers have noted their time, and come out in order") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      val ordered = inOrder(df, "time", OrderOptions(by = Seq($"id"))).as[(String, Timestamp)].mapPartitions { rows =>
        rows.zipWithIndex.map { case ((id, time), at) => (id, time, at) }
      }.toDF("id", "time", "at").select($"id", date_format($"time", "HH:mm"), $"at")
      run(ordered)(
        mark { log.alive("eu"); log.alive("us") },
        AddData(stream, ("a", at("10:08")), ("a", at("11:30")), ("a", at("10:05"))),
        after(1000),
        mark(log.note("eu", millis("10:10"), number(0))),
        after(1000),
        CheckNewAnswer(),
        mark(log.note("us", millis("10:30"), number(0))),
        until(watermarkOf("time")(_).contains(millis("10:10"))),
        after(1000),
        CheckNewAnswer(("a", "10:05", 0), ("a", "10:08", 1)),
        StopStream,
        StartStream(),
        // The second one is late: both writers have noted more.
        AddData(stream, ("a", at("10:20")), ("a", at("10:09"))),
        after(1000),
        mark(log.note("eu", millis("10:20"), number(1))),
        until(watermarkOf("time")(_).contains(millis("10:20"))),
        after(1000),
        CheckNewAnswer(("a", "10:20", 0)),
        Execute(query =>
          assert(query.recentProgress.flatMap(progress =>
            Option(progress.observedMetrics.get("tidemark"))).map(_.getAs[Long]("promises_broken")).sum === 1)))
    }
  }

  test("an aggregation of a table below a watermark by marks is not state") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location))
      val names = Seq("a" -> 1, "a" -> 2).toDF("id", "n").groupBy("id").count().select("id")
      val joined = df.select("id", "time").join(names, "id").select($"id", $"time".as("at"))
      run(withWatermark(joined, "at", "0 seconds", WatermarkOptions(noted = Some(Noted(log.location)))).select("id"))(
        AddData(stream, ("a", at("10:05"))),
        after(1000),
        CheckNewAnswer("a"))
    }
  }

  test("an input without marks holds a union, and is left out when it is idle") {
    withLog { log =>
      val (stream, df) = input(Noted(log.location), Idle("1 minute"))
      val (other, plain) = timed("time", "0 seconds")
      run(counted(df.select("time").union(plain.select("time"))))(
        AddData(other, 1 -> at("10:05"), 2 -> at("10:30")),
        AddData(stream, ("a", at("10:01"))),
        move(1000),
        AddData(other, 3 -> at("10:31")),
        move(1000),
        CheckNewAnswer(),
        AddData(other, 4 -> at("10:32")),
        move(70000),
        AddData(other, 5 -> at("10:33")),
        move(1000),
        move(1000),
        CheckNewAnswer(("10:00", 2L)))
    }
  }
}
