package org.apache.spark.sql.tidemark.query

import io.tidemark.{Idle, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.core.splits.{SplitNameTable, SplitState}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{ManualClockTest, SilenceTest}

/** Which splits of an input are left out of its watermark because they say nothing. */
class SilentSplitsSuite extends SilenceTest {
  import testImplicits._

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

  test("downtime of runs without an idle time is not silence in a later run with one") {
    withTempDir { checkpoint =>
      val (stream, df) = readings
      def start(idleAfter: String) = StartStream(
        checkpointLocation = checkpoint.getCanonicalPath,
        additionalConfs = Map("spark.tidemark.idle.after" -> idleAfter))
      def later = Execute(_ => moveWithin(3600000))
      def idleAre(expected: Int) = Execute { query =>
        assert(watermarksOf(query).view.get.snapshot.entry.origins.values.head.splits.idle === expected)
      }
      run(counted(withWatermark(df, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy($"device")))))(
        Seq(start("none"), AddData(stream, "a" -> at("10:00"), "b" -> at("10:05")), second, StopStream, later) ++
          Seq(start("none")) ++ more(stream, "a" -> "10:10") ++ Seq(StopStream, later, start("10 seconds")) ++
          more(stream, "a" -> "10:30") ++ more(stream, "a" -> "10:31") ++ Seq(idleAre(0)) ++
          minutes(stream, 33 to 43) ++ Seq(idleAre(1)): _*)
    }
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

  test("a watermark with an idle time of none overrides the session's idle.after setting") {
    val (stream, df) = readings
    val never = WatermarkOptions(splitBy = SplitBy($"device"), idle = Idle("none"))
    withSQLConf("spark.tidemark.idle.after" -> "10 seconds") {
      run(counted(withWatermark(df, "time", "0 seconds", never)))(
        more(stream, "a" -> "10:35", "b" -> "10:05") ++ seconds(20) ++
          Seq(CheckNewAnswer(), originsAre("time" -> Some(millis("10:05")))): _*)
    }
  }
}
