package org.apache.spark.sql.tidemark.planning

import java.io.File
import java.sql.Timestamp
import java.time.Instant

import io.tidemark.{Idle, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.{ManualClockTest, SilenceTest}

/** No-data batches of inputs whose watermark advances with the clock: they run only if they close something. */
class ClockStepsSuite extends SilenceTest {
  import testImplicits._

  private val advancing = tenSeconds.copy(idle = tenSeconds.idle.copy(whenAll = Some("advance")))

  private var batches = 0L
  private val remember = Execute(query => batches = last(query))
  private def since(expected: Long) = Execute(query => assert(last(query) - batches === expected))
  private def last(query: StreamExecution): Long = watermarksOf(query).view.get.snapshot.entry.batch

  // Event times are near the clock, which begins at 0.
  private def early(seconds: Long) = new Timestamp(seconds * 1000)
  private def quarterMinutes(count: Int) = Seq.fill(count)(AdvanceManualClock(15000))

  test("a no-data batch runs when a window ends, and not before or after") {
    val (stream, df) = readings
    run(counted(withWatermark(df, "time", "0 seconds", advancing)))(
      Seq(AddData(stream, "a" -> early(5)), second, second, remember) ++ quarterMinutes(38) ++ Seq(
        since(0),
        CheckNewAnswer()) ++ quarterMinutes(3) ++ Seq(since(1), CheckNewAnswer(("00:00", 1L))) ++
        quarterMinutes(40) ++ Seq(since(1)): _*)
  }

  test("a no-data batch runs for each of several overlapping windows") {
    val (stream, df) = readings
    val by = window($"time", "10 minutes", "5 minutes", "1 minute").as("w")
    val counts = withWatermark(df, "time", "0 seconds", advancing).groupBy(by).count()
    run(counts.select(date_format($"w.end", "HH:mm"), $"count"))(
      Seq(AddData(stream, "a" -> early(65)), second, second, remember) ++ quarterMinutes(23) ++ Seq(since(0)) ++
        quarterMinutes(3) ++ Seq(since(1), CheckNewAnswer(("00:06", 1L))) ++
        quarterMinutes(17) ++ Seq(since(1)) ++ quarterMinutes(3) ++ Seq(since(2), CheckNewAnswer(("00:11", 1L))) ++
        quarterMinutes(20) ++ Seq(since(2)): _*)
  }

  testMore("a no-data batch runs when windows by a carried column end") {
    val (stream, df) = readings
    val first = withWatermark(df, "time", "0 seconds", advancing)
      .groupBy(window($"time", "10 minutes").as("w"), $"time".as("t")).count()
    val counts = first.groupBy(window($"t", "30 minutes").as("hour")).agg(sum("count").as("n"))
    run(counts.select(date_format($"hour.start", "HH:mm"), $"n"))(
      Seq(AddData(stream, "a" -> early(5)), second, second) ++ quarterMinutes(118) ++ Seq(CheckNewAnswer()) ++
        quarterMinutes(6) ++ Seq(CheckNewAnswer(("00:00", 1L))): _*)
  }

  test("no-data batches run while deduplication has rows in state, and not after") {
    val (stream, df) = readings
    val distinct = withWatermark(df, "time", "1 minute", advancing).dropDuplicates("device", "time").select("device")
    run(distinct)(
      Seq(AddData(stream, "a" -> early(60)), second, second, remember) ++ quarterMinutes(10) ++ Seq(
        Execute(query => assert((1L to 6L).contains(last(query) - batches))),
        remember) ++ quarterMinutes(20) ++ Seq(since(0)): _*)
  }

  testMore("after a slow batch, the next no-data batch waits four times as long as the slow batch took") {
    val (stream, df) = readings
    val slow = udf { (device: String) =>
      ManualClockTest.within.getAndSet(() => ())()
      device
    }
    val marked = withWatermark(df, "time", "1 minute", advancing).filter(slow.asNondeterministic()($"device") =!= "")
    run(marked.dropDuplicates("device", "time").select("device"))(
      Seq(
        AddData(stream, "a" -> early(1)),
        second,
        // The input is idle from here on, and its watermark follows the clock.
        AdvanceManualClock(20000),
        Execute(_ => ManualClockTest.within.set(() => moveWithin(30000))),
        AddData(stream, "a" -> early(25)),
        move(1000),
        remember) ++ Seq.fill(7)(move(15000)) ++ Seq(
        since(0),
        move(15000),
        move(15000),
        Execute { query =>
          assert(last(query) > batches)
        }): _*)
  }

  private def all(df: DataFrame): Int = {
    var count = 0
    withTempDir { checkpoint =>
      val query = df.writeStream.format("noop").option("checkpointLocation", checkpoint.getCanonicalPath)
        .trigger(Trigger.AvailableNow()).start()
      try {
        assert(query.awaitTermination(30000), "it has not ended")
        count = new File(checkpoint, "commits").list().count(_.forall(_.isDigit))
      } finally query.stop()
    }
    count
  }

  // Every batch takes longer than the idle time.
  private val soon = WatermarkOptions(idle = Idle(after = Some("1 millisecond"), whenAll = Some("advance")))

  test("an AvailableNow query ends even if a window is still open") {
    val (stream, df) = readings
    stream.addData("a" -> Timestamp.from(Instant.now), "b" -> Timestamp.from(Instant.now.plusSeconds(3600)))
    assert(all(counted(withWatermark(df, "time", "0 seconds", soon))) <= 4)
  }

  test("an AvailableNow query ends even if deduplication has rows in state") {
    val (stream, df) = readings
    stream.addData("a" -> Timestamp.from(Instant.now), "b" -> Timestamp.from(Instant.now.plusSeconds(3600)))
    assert(all(withWatermark(df, "time", "0 seconds", soon).dropDuplicates("device", "time")) <= 4)
  }
}
