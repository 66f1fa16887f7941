package org.apache.spark.sql.tidemark.query

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.jdk.CollectionConverters._

import io.tidemark.{Idle, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.core.splits.{SplitNameTable, SplitState}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.status.SplitNews
import org.apache.spark.sql.tidemark.support.{ManualClockTest, SilenceTest}

/** Which splits of an input are left out of its watermark because they say nothing, and which only wait to be read. */
class SilentSplitsSuite extends SilenceTest {
  import testImplicits._

  /** All fall idle one after the other, whichever split has rows. */
  private val rising =
    tenSeconds.copy(splitBy = SplitBy($"device"), idle = tenSeconds.idle.copy(whenAll = Some("rise")))

  test("an idle timeout alone closes windows at the next trigger") {
    val (stream, df) = readings
    run(counted(withWatermark(df, "time", "0 seconds", rising)))(
      more(stream, "a" -> "10:00", "a" -> "10:35", "b" -> "10:05") ++
        seconds(9) ++ Seq(
          CheckNewAnswer(),
          second,
          CheckNewAnswer(("10:00", 2L)),
          Execute(query => assert(watermarksOf(query).view.get.snapshot.decision.origins.values.forall(_.isIdle)))): _*)
  }

  test("an idle split no longer holds the watermark back") {
    val (stream, df) = readings
    run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))))(
      more(stream, "a" -> "10:00", "b" -> "10:05") ++
        minutes(stream, 11 to 19) ++ Seq(CheckNewAnswer()) ++
        more(stream, "a" -> "10:25") ++ Seq(second, CheckNewAnswer(("10:00", 2L), ("10:10", 9L))): _*)
  }

  test("the log says when a split falls idle, and when it comes back behind the watermark") {
    val (stream, df) = readings
    val marked = withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))
    val appender = new LogAppender("splits that fall idle and return")
    withLogAppender(appender, Seq(classOf[SplitNews].getName)) {
      run(counted(marked))(
        more(stream, "a" -> "10:00", "b" -> "10:05") ++
          minutes(stream, 11 to 22) ++
          // A minute later the next line may come.
          Seq(AdvanceManualClock(60000)) ++ more(stream, "a" -> "10:35") ++ more(stream, "b" -> "10:06"): _*)
    }
    val lines = appender.loggingEvents.map(_.getMessage.getFormattedMessage).filter(_.contains("of input \"time\""))
    assert(lines.size === 2, lines)
    assert(lines.head.endsWith(
      "split \"b\" of input \"time\" fell idle at 2024-03-01T10:05:00Z, and the watermark goes on " +
        "without it. 1 of 2 splits are idle."))
    assert(lines(
      1).endsWith("split \"b\" of input \"time\" is back at 2024-03-01T10:06:00Z, 29 minutes behind the watermark. " +
      "Its rows before that are late."))
  }

  test("idle time counts from the end of a batch, even if the batch takes longer than the idle time") {
    val (stream, df) = readings
    val slow = udf { (device: String) =>
      ManualClockTest.within.getAndSet(() => ())()
      device
    }
    val marked = withWatermark(df, "time", "0 seconds", rising)
    def allAreIdle(expected: Boolean) = Execute { query =>
      assert(watermarksOf(query).view.get.snapshot.decision.origins.values.forall(_.isIdle) === expected)
    }
    run(counted(marked.filter(slow.asNondeterministic()($"device") =!= "")))(
      Execute(_ => ManualClockTest.within.set(() => moveWithin(30000))),
      AddData(stream, "a" -> at("10:35"), "b" -> at("10:05")),
      move(1000),
      CheckNewAnswer(),
      // The batch has ended at 31 s.
      move(9000),
      CheckNewAnswer(),
      allAreIdle(false),
      move(1000),
      CheckNewAnswer(("10:00", 1L)),
      allAreIdle(true))
  }

  test("idle splits stay idle over a restart, and active splits stay active") {
    val (stream, df) = readings
    def idleAre(names: String*) = Execute { query =>
      val splits = watermarksOf(query).view.get.snapshot.entry.origins.values.head.splits
      val idle = (0 until splits.size).filter(splits.state(_) == SplitState.Idle)
      assert(idle.map(split => SplitNameTable.show(splits.name(split))).toSet === names.toSet)
    }
    run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))))(
      more(stream, "a" -> "10:00", "b" -> "10:05") ++
        minutes(stream, 11 to 22) ++ Seq(idleAre("b"), StopStream, StartStream()) ++
        more(stream, "a" -> "10:25") ++ Seq(idleAre("b"), originsAre("time" -> Some(millis("10:25")))) ++
        Seq(AddData(stream, "b" -> at("10:26")), second, idleAre(), StopStream, StartStream()) ++
        more(stream, "a" -> "10:50") ++ Seq(idleAre(), originsAre("time" -> Some(millis("10:26")))): _*)
  }

  test("after downtime the report tells when splits really had their last rows, and which never had any") {
    withTempDir { checkpoint =>
      val (stream, df) = readings
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      def splitsAre(check: Map[String, JsonNode] => Unit) = Execute { query =>
        val json = new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get)
        val splits = json.get("inputs").get(0).get("splits").get("worst").elements.asScala
        check(splits.map(one => one.get("name").asText -> one).toMap)
      }
      val splitBy = SplitBy(Seq($"device"), Seq(Seq(Some("never"))))
      run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = splitBy))))(
        Seq(start) ++ more(stream, "a" -> "10:00", "b" -> "10:05") ++
          Seq(second, StopStream, Execute(_ => moveWithin(3600000)), start) ++
          more(stream, "a" -> "10:30") ++ Seq(splitsAre { splits =>
            assert(splits("b").get("last_active_ms").asLong === 1000)
            assert(splits("b").get("silent_ms").asLong < 10000)
            assert(splits("b").get("silent_of_ms").asLong >= 3600000)
            assert(splits("a").get("last_active_ms").asLong >= 3600000)
            assert(splits("a").get("silent_ms").asLong === 0)
            assert(splits("never").get("last_active_ms").isNull)
            assert(splits("never").get("state").asText === "without_rows")
            assert(splits("never").get("is_expected").asBoolean)
          }): _*)
    }
  }

  for ((setting, idle) <- Seq("false" -> 0, "true" -> 1))
    test(s"downtimeIsSilence=$setting decides whether downtime makes a split idle, also before a rerun batch") {
      withSQLConf(TidemarkConf.DowntimeIsSilence.key -> setting)(withTempDir { checkpoint =>
        val (stream, df) = readings
        val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
        def later = Seq(Execute(_ => moveWithin(3600000)), start)
        def idleAre(expected: Int) = Execute { query =>
          assert(watermarksOf(query).view.get.snapshot.entry.origins.values.head.splits.idle === expected)
        }
        var first = 0L
        val marked = withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))
        run(counted(marked))(
          Seq(start, AddData(stream, "a" -> at("10:00"), "b" -> at("10:05")), second, second) ++
            Seq(Execute(query => first = watermarksOf(query).view.get.snapshot.entry.batch + 1), StopStream) ++ later ++
            // The splits of unread rows are unknown in the first batch; in the second, "b" is known to have had none.
            more(stream, "a" -> "10:30") ++ more(stream, "a" -> "10:31") ++ Seq(idleAre(idle), StopStream) ++
            // The checkpoint is as if the query had been killed in its first batch.
            Seq(Execute(_ => setBack(checkpoint, first))) ++ later ++ more(stream, "a" -> "10:32") ++
            more(stream, "a" -> "10:32") ++ Seq(idleAre(idle)) ++
            // Split "b" has now had no rows while the query ran.
            minutes(stream, 33 to 43) ++ Seq(idleAre(1)): _*)
      })
    }

  for ((rule, reached) <- Seq("hold" -> "10:26", "catch_up" -> "10:46"))
    test(s"a split that returns behind the watermark is treated by on_return=$rule") {
      val (stream, df) = readings
      val options = tenSeconds.copy(splitBy = SplitBy($"device"), idle = tenSeconds.idle.copy(onReturn = Some(rule)))
      run(counted(withWatermark(df, "time", "0 seconds", options)))(
        more(stream, "a" -> "10:00", "b" -> "10:05") ++ minutes(stream, 11 to 22) ++
          more(stream, "a" -> "10:26") ++ Seq(originsAre("time" -> Some(millis("10:26")))) ++
          // The row of "b" is late and behind; "a" advances.
          more(stream, "b" -> "10:12") ++ more(stream, "a" -> "10:46") ++
          Seq(originsAre("time" -> Some(millis(reached)))) ++
          // Split "b" has caught up, and holds the watermark in both cases.
          more(stream, "b" -> "10:50") ++ more(stream, "a" -> "11:00") ++ Seq(
            originsAre("time" -> Some(millis("10:50")))): _*)
    }

  // With the default the clocks of a silent input stand, and so does the state of its splits.
  for ((rule, expected) <- Seq("hold" -> (2 -> 0), "rise" -> (0 -> 2)))
    test(s"the report never shows an idle input beside one idle split of two, with when_all=$rule") {
      val (stream, df) = readings
      val options = tenSeconds.copy(splitBy = SplitBy($"device"), idle = tenSeconds.idle.copy(whenAll = Some(rule)))
      var told = Seq.empty[(Boolean, Int, Int)]
      val look = Execute { query =>
        val origin =
          new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get).get("inputs").get(0)
        val splits = origin.get("splits")
        told :+= ((origin.get("idle").asBoolean, splits.get("active").asInt, splits.get("idle").asInt))
      }
      run(counted(withWatermark(df, "time", "0 seconds", options)))(
        more(stream, "a" -> "10:00") ++ more(stream, "b" -> "10:05") ++ (1 to 25).flatMap(_ => Seq(second, look)): _*)
      assert(told.head === ((false, 2, 0)))
      assert(told.filter(_._1).map { case (_, active, idle) => (active, idle) }.distinct === Seq(expected))
    }

  test("a watermark with an idle time of none overrides the session's idle.after setting") {
    val (stream, df) = readings
    val never = WatermarkOptions(splitBy = SplitBy($"device"), idle = Idle("none"))
    withSQLConf("spark.tidemark.idle.after" -> "10 seconds") {
      run(counted(withWatermark(df, "time", "0 seconds", never)))(
        more(stream, "a" -> "10:35", "b" -> "10:05") ++ seconds(20) ++
          Seq(CheckNewAnswer(), originsAre("time" -> Some(millis("10:05")))): _*)
    }
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

  test("the rest of a file listing is read before newer files, and the watermark waits for splits in newer files") {
    withTempDir { folder =>
      val files = folder.toPath
      addFile(files, 0, "b" -> "10:00")
      addFile(files, 1, "a" -> "11:00")
      addFile(files, 2, "a" -> "11:01")
      run(counted(withWatermark(
        readFiles(files, most = 2),
        "time",
        "0 seconds",
        rising)))(
        Execute { _ =>
          triggered()
          addFile(files, 3, "b" -> "10:05")
        },
        // Spark reads one file, though two are allowed and two have arrived.
        AdvanceManualClock(60000),
        AdvanceManualClock(60000),
        originsAre("time" -> Some(millis("10:05"))),
        AdvanceManualClock(60000),
        AdvanceManualClock(60000),
        CheckNewAnswer(("10:00", 2L)))
    }
  }

  test("no split becomes idle while an admission limit holds back a backlog") {
    withTempDir { folder =>
      val files = folder.toPath
      val df = readFiles(files, most = 1)
      addFile(files, 0, "b" -> "10:00")
      for (number <- 1 to 5) addFile(files, number, "a" -> s"11:0$number")
      run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))))(
        // Six batches run a minute apart: split "b" is idle only when all files have been read.
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
