package org.apache.spark.sql.tidemark

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicReference

import io.tidemark.{TidemarkError, TidemarkException, WatermarkOptions}
import io.tidemark.core.{Coalescer, OnReturn, OriginRules, SplitNames, WhenIdle}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._

/** Who is left out of a watermark because it says nothing, by a clock that the test moves (ms from 0). */
class SilenceSuite extends ManualClockTest {
  import testImplicits._

  private val tenSeconds = WatermarkOptions(idleAfter = Some("10 seconds"))

  private def readings: (MemoryStream[(String, Timestamp)], DataFrame) = {
    val stream = MemoryStream[(String, Timestamp)]
    stream -> stream.toDF().toDF("device", "time")
  }

  private def counted(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  private def second: StreamAction = AdvanceManualClock(1000)
  private def seconds(count: Int): Seq[StreamAction] = Seq.fill(count)(second)

  test("a time-out alone closes windows, at the next trigger") {
    val (stream, df) = readings
    run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = Seq($"device")))))(
      Seq(AddData(stream, "a" -> at("10:00"), "a" -> at("10:35"), "b" -> at("10:05")), second) ++
        seconds(9) ++ Seq(
          CheckNewAnswer(),
          second,
          CheckNewAnswer(("10:00", 2L)),
          Execute(query => assert(keyed(query).snapshot.get.decision.origins.values.forall(_.isIdle)))): _*)
  }

  test("a silent split no longer holds the others back") {
    val (stream, df) = readings
    def more(time: String) = Seq(AddData(stream, "a" -> at(time)), second)
    run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = Seq($"device")))))(
      Seq(AddData(stream, "a" -> at("10:00"), "b" -> at("10:05")), second) ++
        (11 to 19).flatMap(minute => more(s"10:$minute")) ++ Seq(CheckNewAnswer()) ++
        more("10:25") ++ Seq(second, CheckNewAnswer(("10:00", 2L), ("10:10", 9L))): _*)
  }

  test("a batch that takes longer than the idle time is no silence: it counts from the batch's end") {
    val (stream, df) = readings
    val slow = udf { (device: String) =>
      SilenceSuite.within.getAndSet(() => ())()
      device
    }
    val marked = withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = Seq($"device")))
    def idle(names: String*) = Execute { query =>
      val splits = keyed(query).snapshot.get.decision.origins.values
      assert(splits.forall(_.isIdle) === names.nonEmpty)
    }
    run(counted(marked.filter(slow.asNondeterministic()($"device") =!= "")))(
      Execute(_ => SilenceSuite.within.set(() => moveWithin(30000))),
      AddData(stream, "a" -> at("10:35"), "b" -> at("10:05")),
      move(1000),
      CheckNewAnswer(),
      // The batch has ended at 31 s.
      move(9000),
      CheckNewAnswer(),
      idle(),
      move(1000),
      CheckNewAnswer(("10:00", 1L)),
      idle("a", "b"))
  }

  test("who is idle stays idle over a restart, and who was not has not become it") {
    val (stream, df) = readings
    def more(time: String) = Seq(AddData(stream, "a" -> at(time)), second)
    def idleAre(names: String*) = Execute { query =>
      val splits = keyed(query).snapshot.get.entry.origins.values.head.splits
      val idle = (0 until splits.size).filter(splits.state(_) == Coalescer.Idle)
      assert(idle.map(split => SplitNames.show(splits.name(split))).toSet === names.toSet)
    }
    run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = Seq($"device")))))(
      Seq(AddData(stream, "a" -> at("10:00"), "b" -> at("10:05")), second) ++
        (11 to 22).flatMap(minute => more(s"10:$minute")) ++ Seq(idleAre("b"), StopStream, StartStream()) ++
        more("10:25") ++ Seq(idleAre("b"), originsAre("time" -> Some(millis("10:25")))) ++
        Seq(AddData(stream, "b" -> at("10:26")), second, idleAre(), StopStream, StartStream()) ++
        more("10:50") ++ Seq(idleAre(), originsAre("time" -> Some(millis("10:26")))): _*)
  }

  for ((rule, reached) <- Seq("hold" -> "10:26", "catch_up" -> "10:46"))
    test(s"a split that comes back behind the watermark: $rule") {
      val (stream, df) = readings
      val options = tenSeconds.copy(splitBy = Seq($"device"), onReturn = Some(rule))
      def more(rows: (String, Timestamp)*) = Seq(AddData(stream, rows: _*), second)
      run(counted(withWatermark(df, "time", "0 seconds", options)))(
        more("a" -> at("10:00"), "b" -> at("10:05")) ++ (11 to 22).flatMap(minute => more("a" -> at(s"10:$minute"))) ++
          more("a" -> at("10:26")) ++ Seq(originsAre("time" -> Some(millis("10:26")))) ++
          // Late, and behind; the other goes on.
          more("b" -> at("10:12")) ++ more("a" -> at("10:46")) ++ Seq(originsAre("time" -> Some(millis(reached)))) ++
          // It has caught up, and holds in both cases.
          more("b" -> at("10:50")) ++ more("a" -> at("11:00")) ++ Seq(
            originsAre("time" -> Some(millis("10:50")))): _*)
    }

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
      assert(rules.expected.map(SplitNames.decode(_)) === allOptions.expectedSplits)
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

  test("a watermark may have no time-out where the session's setting gives it one") {
    val (stream, df) = readings
    val never = WatermarkOptions(splitBy = Seq($"device"), idleAfter = Some("none"))
    withSQLConf("spark.tidemark.idleAfter" -> "10 seconds") {
      run(counted(withWatermark(df, "time", "0 seconds", never)))(
        Seq(AddData(stream, "a" -> at("10:35"), "b" -> at("10:05")), second) ++ seconds(20) ++
          Seq(CheckNewAnswer(), originsAre("time" -> Some(millis("10:05")))): _*)
    }
  }

  test("an input that is silent as a whole is left out of a union; what it says then is not late without need") {
    val (loud, a) = readings
    val (silent, b) = readings
    val both = a.withWatermark("time", "0 seconds").union(withWatermark(b, "time", "0 seconds", tenSeconds))
    run(counted(both))(
      Seq(
        AddData(loud, "a" -> at("10:00"), "a" -> at("10:35")),
        AddData(silent, "b" -> at("10:05")),
        second,
        second,
        CheckNewAnswer()) ++ seconds(9) ++ Seq(
        CheckNewAnswer(("10:00", 2L)),
        // The union stands at 10:35 now.
        AddData(silent, "b" -> at("10:31")),
        second,
        AddData(loud, "a" -> at("11:00")),
        second,
        second,
        CheckNewAnswer(),
        AddData(silent, "b" -> at("11:05")),
        second,
        second,
        CheckNewAnswer(("10:30", 2L))): _*)
  }

  test("an operator without an event time does not go back when an idle input returns") {
    val (loud, a) = readings
    val (silent, b) = readings
    val both = a.withWatermark("time", "0 seconds").union(withWatermark(b, "time", "0 seconds", tenSeconds))
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

  test("an input that has never spoken is left out when its time has passed since the first batch") {
    val (loud, a) = readings
    val (_, b) = readings
    val both = a.withWatermark("time", "0 seconds").union(withWatermark(b, "time", "0 seconds", tenSeconds))
    run(counted(both))(
      Seq(AddData(loud, "a" -> at("10:00"), "a" -> at("10:35")), second) ++ seconds(9) ++ Seq(
        CheckNewAnswer(),
        second,
        CheckNewAnswer(("10:00", 1L))): _*)
  }

  test("a session's setting reaches plain watermarks") {
    withSQLConf("spark.tidemark.idleAfter" -> "10 seconds") {
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

  test("with follow an idle side is as far as the other; when it returns it does not go back") {
    val (shown, clicked, join) = joined(tenSeconds.copy(joinIdle = Some("follow")))
    run(join)(
      Seq(AddData(shown, "x" -> at("10:00"), "y" -> at("12:00")), AddData(clicked, "z" -> at("10:00")), second) ++
        seconds(8) ++ Seq(
          AddData(shown, "w" -> at("12:01")),
          second,
          CheckNewAnswer(),
          second,
          CheckNewAnswer(("x", null)),
          // Late by what the side has followed to, and still late a batch later: the floor is kept.
          AddData(clicked, "y" -> at("11:59"), "y" -> at("12:02")),
          second,
          CheckNewAnswer(("y", "y")),
          AddData(clicked, "w" -> at("12:00")),
          second,
          CheckNewAnswer()): _*)
  }

  test("an idle input that advances closes its last windows by the clock") {
    val (stream, df) = readings
    val options = tenSeconds.copy(whenIdle = Some("advance"))
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

  private def readFiles(folder: Path, most: Int): DataFrame =
    spark.readStream.schema("device STRING, time TIMESTAMP").option("maxFilesPerTrigger", most).json(folder.toString)

  /** A file with one row, which is read after those of smaller numbers. */
  private def addFile(folder: Path, number: Int, row: (String, String)): Unit = {
    val hidden = folder.resolve(s".$number")
    Files.writeString(hidden, s"""{"device": "${row._1}", "time": "2024-03-01T${row._2}:00Z"}""")
    Files.setLastModifiedTime(hidden, FileTime.fromMillis(1000L * number))
    Files.move(hidden, folder.resolve(s"$number.json"))
    ()
  }

  test("what is left of a listing is read before files that have come since, whose splits are waited for") {
    withTempDir { folder =>
      val files = folder.toPath
      addFile(files, 0, "b" -> "10:00")
      addFile(files, 1, "a" -> "11:00")
      addFile(files, 2, "a" -> "11:01")
      run(counted(withWatermark(
        readFiles(files, most = 2),
        "time",
        "0 seconds",
        tenSeconds.copy(splitBy = Seq($"device")))))(
        Execute { _ =>
          triggered()
          addFile(files, 3, "b" -> "10:05")
        },
        // One file, though two would be allowed and there are two.
        AdvanceManualClock(60000),
        AdvanceManualClock(60000),
        originsAre("time" -> Some(millis("10:05"))),
        AdvanceManualClock(60000),
        AdvanceManualClock(60000),
        CheckNewAnswer(("10:00", 2L)))
    }
  }

  test("an input of nothing but null times falls silent") {
    val (loud, a) = readings
    val (nulls, b) = readings
    val both = a.withWatermark("time", "0 seconds").union(withWatermark(b, "time", "0 seconds", tenSeconds))
    def more(time: String) = Seq(AddData(loud, "a" -> at(time)), AddData(nulls, "b" -> null), second)
    run(counted(both))(
      more("10:00") ++ more("10:35") ++ Seq(CheckNewAnswer()) ++ seconds(8) ++ more("10:36") ++ Seq(
        second,
        CheckNewAnswer(("10:00", 1L))): _*)
  }

  test("a backlog that an admission limit holds back is no silence") {
    withTempDir { folder =>
      val files = folder.toPath
      val df = readFiles(files, most = 1)
      addFile(files, 0, "b" -> "10:00")
      for (number <- 1 to 5) addFile(files, number, "a" -> s"11:0$number")
      run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = Seq($"device")))))(
        // Six batches a minute apart: the silent split is idle only when all has been read.
        Seq.fill(5)(AdvanceManualClock(60000)) ++ Seq(
          CheckNewAnswer(),
          originsAre("time" -> Some(millis("10:00"))),
          AdvanceManualClock(60000),
          AdvanceManualClock(60000),
          AdvanceManualClock(60000),
          CheckNewAnswer(("10:00", 1L))): _*)
    }
  }
}

private object SilenceSuite {

  /** What a batch does in its midst, once. */
  val within = new AtomicReference[() => Unit](() => ())
}
