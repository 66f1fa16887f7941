package org.apache.spark.sql.tidemark.query

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import scala.collection.mutable

import io.tidemark.{Noted, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.OneTimeTrigger
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode, Trigger}
import org.apache.spark.sql.tidemark.support.{MarkLogTest, SilenceTest}

/** A run begins with what is due: a restart without any new row emits what nothing but a row would have brought. */
class RunStartSuite extends SilenceTest with MarkLogTest {
  import testImplicits._

  private def write(folder: File, name: String, times: String*): Unit = {
    val rows = times.map(time => s"""{"time":"2024-03-01T$time:00Z"}""").mkString("", "\n", "\n")
    Files.writeString(new File(folder, name).toPath, rows)
    ()
  }

  /** What a run of a query emits, which ends by itself. */
  private def runOnce(df: DataFrame, checkpoint: File, trigger: Trigger): Seq[Row] = {
    val rows = mutable.Buffer.empty[Row]
    val keep = (batch: DataFrame, _: Long) => { rows ++= batch.collect(); () }
    df.writeStream.foreachBatch(keep).trigger(trigger)
      .option("checkpointLocation", checkpoint.getPath).start().awaitTermination()
    rows.toSeq
  }

  private val byDevice = tenSeconds.copy(splitBy = SplitBy($"device"))

  private def batches(checkpoint: File): Seq[Long] =
    new File(checkpoint, "commits").list().toSeq.flatMap(_.toLongOption).sorted

  test("a job that reads what is available emits what was noted while it did not run, without a row of the next day") {
    withLog { log =>
      val folder = log.folder.getParentFile
      def df = counted(withWatermark(
        spark.readStream.schema("time timestamp").json(folder.getPath),
        "time",
        "0 seconds",
        WatermarkOptions(noted = Some(Noted()))))
      withTempDir { checkpoint =>
        write(folder, "1.json", "10:05", "10:15")
        log.note("eu", millis("10:09"), """{"files":["1.json"]}""")
        assert(runOnce(df, checkpoint, Trigger.AvailableNow()) === Nil)
        log.note("eu", millis("10:10"), """{"files":[]}""")
        assert(runOnce(df, checkpoint, Trigger.AvailableNow()) === Seq(Row("10:00", 1L)))
        val after = batches(checkpoint)
        assert(runOnce(df, checkpoint, Trigger.AvailableNow()) === Nil)
        assert(batches(checkpoint) === after)
        log.note("eu", millis("10:30"), """{"files":[]}""")
        // One batch takes in the mark, and the next one emits.
        assert((1 to 2).flatMap(_ => runOnce(df, checkpoint, OneTimeTrigger)) === Seq(Row("10:10", 1L)))
      }
    }
  }

  test("a mark that is written after a restart is found without a row") {
    withLog { log =>
      val stream = MemoryStream[(String, Timestamp)]
      val options = WatermarkOptions(maxAhead = Some("none"), noted = Some(Noted(log.location)))
      def note(time: String) = Execute(_ => log.note("eu", millis(time), """{"number":0}"""))
      def untilNoted = until { query =>
        watermarksOf(query).view.get.snapshot.decision.origins.values.head.millis.contains(millis("10:10"))
      }
      run(counted(withWatermark(stream.toDF().toDF("id", "time"), "time", "0 seconds", options)))(
        note("10:00"),
        AddData(stream, "a" -> at("10:05")),
        move(1000),
        StopStream,
        StartStream(),
        move(1000),
        CheckNewAnswer(),
        note("10:10"),
        untilNoted,
        move(1000),
        CheckNewAnswer("10:00" -> 1L))
    }
  }

  for ((setting, left) <- Seq("false" -> 5, "true" -> 0))
    test(s"a split that becomes idle after a restart is left out without a row: downtimeIsSilence=$setting") {
      withSQLConf(TidemarkConf.DowntimeIsSilence.key -> setting) {
        val (stream, df) = readings
        run(counted(withWatermark(df, "time", "0 seconds", rising)))(
          more(stream, "a" -> "10:00", "a" -> "10:35", "b" -> "10:05") ++ seconds(5) ++
            Seq(CheckNewAnswer(), StopStream, Execute(_ => moveWithin(60000)), StartStream()) ++
            Seq.fill(left)(Seq(second, CheckNewAnswer())).flatten ++
            seconds(5) ++ Seq(CheckNewAnswer(("10:00", 2L))): _*)
      }
    }

  test("a window that was due when the query was killed is emitted without a row, and once") {
    withTempDir { checkpoint =>
      val (stream, df) = readings
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      def killed(batch: Long) = Seq(StopStream, Execute(_ => setBack(checkpoint, batch)), start)
      run(counted(withWatermark(df, "time", "0 seconds", byDevice)))(
        Seq(start, AddData(stream, "a" -> at("10:00"), "a" -> at("10:10")), second, CheckNewAnswer()) ++
          Seq(StopStream, start, second, CheckNewAnswer("10:00" -> 1L)) ++
          // As if it had been killed before batch 1 was committed. The sink has its rows.
          killed(1) ++ Seq(second, second, CheckAnswer("10:00" -> 1L)) ++
          Seq(Execute(_ => assert(batches(checkpoint) === Seq(0L, 1L)))): _*)
    }
  }

  test("rows that have arrived before the start are read in the first batch, together with what is due") {
    withTempDir { checkpoint =>
      val (stream, df) = readings
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      run(counted(withWatermark(df, "time", "0 seconds", byDevice)))(
        start,
        AddData(stream, "a" -> at("10:00"), "a" -> at("10:10")),
        second,
        StopStream,
        AddData(stream, "a" -> at("10:20")),
        start,
        CheckNewAnswer("10:00" -> 1L),
        second,
        CheckNewAnswer("10:10" -> 1L),
        Execute(_ => assert(batches(checkpoint) === Seq(0L, 1L, 2L))))
    }
  }

  test("a run that ends by itself does not begin with timers that follow the clock") {
    withTempDir { checkpoint =>
      val (stream, df) = readings
      val timed = withWatermark(df, "time", "0 seconds", byDevice).as[(String, Timestamp)].groupByKey(_._1)
        .flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.ProcessingTimeTimeout) {
          (id: String, rows: Iterator[(String, Timestamp)], state: GroupState[Int]) =>
            state.update(rows.size)
            state.setTimeoutDuration("1 hour")
            Iterator[String]()
        }.toDF()
      stream.addData("a" -> at("10:00"))
      assert(runOnce(timed, checkpoint, OneTimeTrigger) === Nil)
      assert(batches(checkpoint) === Seq(0L))
      assert(runOnce(timed, checkpoint, Trigger.AvailableNow()) === Nil)
      assert(runOnce(timed, checkpoint, OneTimeTrigger) === Nil)
      assert(batches(checkpoint) === Seq(0L))
    }
  }

  for {
    (what, options, setting) <- Seq(
      ("asks for nothing of Tidemark", WatermarkOptions(), "true"),
      ("runs no batches without data", byDevice, "false"))
  } test(s"a query that $what waits for a row") {
    withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> setting)(withTempDir { checkpoint =>
      val (stream, df) = readings
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      run(counted(withWatermark(df, "time", "0 seconds", options)))(
        start,
        AddData(stream, "a" -> at("10:00"), "a" -> at("10:10")),
        second,
        StopStream,
        start,
        second,
        CheckNewAnswer(),
        AddData(stream, "a" -> at("10:11")),
        second,
        CheckNewAnswer("10:00" -> 1L))
    })
  }
}
