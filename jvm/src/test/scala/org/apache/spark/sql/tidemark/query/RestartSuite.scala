package org.apache.spark.sql.tidemark.query

import java.io.File

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{StreamingQueryException, Trigger}
import org.apache.spark.sql.tidemark.support.{BatchRun, TwoStreams}
import org.apache.spark.sql.tidemark.support.Histories.Event

/** A query that is stopped and started again, or killed, continues as if it had not stopped. */
class RestartSuite extends TwoStreams {
  import testImplicits._

  private val queries: Seq[(String, Query)] = Seq(
    "a union of aggregations" -> unionOfCounts,
    "an outer join and an aggregation" -> outerJoinAndCounts,
    "an aggregation by a carried column" -> carriedColumn,
    "a query with a watermark after a join" -> redefinition,
    "a query with splits" -> splitInput)

  test("the watermark of each input survives a restart") {
    val (fast, a) = timed("fast", "0 seconds")
    val (slow, b) = timed("slow", "10 minutes")
    testStream(counted(a, "fast").union(counted(b, "slow")))(
      StartStream(),
      MultiAddData(fast, 1 -> at("12:00"))(slow, 1 -> at("10:00")),
      ProcessAllAvailable(),
      originsAre("fast" -> Some(millis("12:00")), "slow" -> Some(millis("9:50"))),
      StopStream,
      StartStream(),
      // The row of `fast` is late by the watermark before the restart; `slow` advances on its own.
      MultiAddData(fast, 2 -> at("11:30"))(slow, 2 -> at("10:20")),
      ProcessAllAvailable(),
      originsAre("fast" -> Some(millis("12:00")), "slow" -> Some(millis("10:10"))),
      CheckNewAnswer(("slow", "10:00", 1L)))
  }

  for ((name, query) <- queries) moreTestsIf(query != splitInput) {
    test(s"restarting before every step changes no batch of $name") {
      val straight = new Inputs
      val expected = record("append", query(straight.a, straight.b), straight.wandering)
      assert(expected.exists(_.rows.nonEmpty))
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        inputs.wandering.foreach(step => recorder.run(query(inputs.a, inputs.b))(step))
        assertSameBatches(recorder.batches, expected)
      }
    }
  }

  /** A history in which the last batch of its first steps is killed and run again: nothing may differ for it.
    *
    * @param kill what is done to that batch before it is run again; @param check what its runs are held to
    */
  private def runAgain(query: Query, withoutData: Boolean, firstSteps: Int)(kill: (Recorder, Long) => Unit)(
      check: Seq[BatchRun] => Unit): Unit =
    withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> withoutData.toString) {
      val straight = new Inputs
      val expected = record("append", query(straight.a, straight.b), straight.wandering)
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        val (before, after) = inputs.wandering.splitAt(firstSteps)
        recorder.run(query(inputs.a, inputs.b))(before: _*)
        val last = recorder.batches.last.id
        val entryBefore = timeless(entry(checkpoint, last))
        forget(checkpoint, "commits", last)
        kill(recorder, last)
        recorder.run(query(inputs.a, inputs.b))()
        check(recorder.runsOf(last).map(_.copy(step = 0)))
        assert(timeless(entry(checkpoint, last)) === entryBefore)
        recorder.run(query(inputs.a, inputs.b))(after: _*)
        assertSameBatches(recorder.batches.map(_.copy(step = 0)), expected.map(_.copy(step = 0)))
      }
    }

  for ((name, query) <- queries; withoutData <- Seq(true, false)) {
    val which = s"a ${if (withoutData) "no-data batch" else "batch with data"}"

    moreTestsIf(withoutData || query != splitInput) {
      test(s"a rerun of $which gives the same result in $name") {
        runAgain(query, withoutData, firstSteps = 3)((_, _) => ()) { runs =>
          val Seq(first, second) = runs: @unchecked
          assert(second === first)
        }
      }
    }

    moreTestsIf(withoutData || query != unionOfCounts) {
      test(s"$which that the sink skips still takes effect in $name") {
        runAgain(query, withoutData, firstSteps = 4) { (recorder, last) =>
          forget(recorder.checkpoint, "tidemark", last)
          recorder.passesOver = Set(last)
        }(runs => assert(runs.size === 1))
      }
    }
  }

  // Spark commits a batch of its own for it, which Tidemark does not see.
  for ((name, query) <- queries) moreTestsIf(query != splitInput) {
    test(s"another number of partitions of the state changes no batch of $name") {
      withSQLConf(SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName) {
        val straight = new Inputs
        val expected = record("append", query(straight.a, straight.b), straight.wandering)
        withTempDir { checkpoint =>
          val inputs = new Inputs
          val recorder = new Recorder("append", checkpoint)
          val (before, after) = inputs.wandering.splitAt(3)
          recorder.run(query(inputs.a, inputs.b))(before: _*)
          spark.streamingCheckpointManager.repartition(checkpoint.getCanonicalPath, 3)
          recorder.run(query(inputs.a, inputs.b))(after: _*)
          assertSameBatches(recorder.batches.map(_.copy(step = 0)), expected.map(_.copy(step = 0)))
        }
      }
    }
  }

  testMore("a rerun batch of session windows in complete mode runs only once") {
    withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> "false")(withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("complete", checkpoint)
      def query = inputs.a.groupBy(session_window(col("ta"), "5 minutes"), col("a")).count()
      recorder.run(query)(inputs.wandering: _*)
      val last = recorder.batches.last.id
      forget(checkpoint, "commits", last)
      val log = new LogAppender
      withLogAppender(log)(recorder.run(query)())
      val Seq(first, second) = recorder.runsOf(last).map(_.copy(step = 0)): @unchecked
      assert(second === first)
      assert(!log.loggingEvents.exists(_.getMessage.getFormattedMessage.contains("without the sink")))
    })
  }

  private val kills = Seq[(String, (File, Long) => Unit)](
    "before its entry was written" -> { (checkpoint, batch) =>
      forget(checkpoint, "commits", batch)
      forget(checkpoint, "tidemark", batch)
    },
    "while its entry was written" -> cutEntry)

  for ((moment, kill) <- kills) moreTestsIf(moment != "while its entry was written") {
    test(s"a batch that was killed $moment gives the same result when it runs again") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        recorder.run(carriedColumn(inputs.a, inputs.b))(inputs.wandering.take(3): _*)
        val last = recorder.batches.last.id
        val entryBefore = timeless(entry(checkpoint, last))
        kill(checkpoint, last)
        recorder.run(carriedColumn(inputs.a, inputs.b))()
        assert(timeless(entry(checkpoint, last)) === entryBefore)
      }
    }
  }

  for (withoutData <- Seq(true, false))
    testMore(s"Spark's file sink has the same rows after kills as without kills, with no-data batches: $withoutData") {
      withTempDir { folder =>
        def write(df: DataFrame, to: String)(history: Step*): File = {
          val checkpoint = new File(folder, s"$to-checkpoint")
          val running = df.writeStream
            .format("parquet")
            .option("checkpointLocation", checkpoint.getCanonicalPath)
            .start(new File(folder, to).getCanonicalPath)
          try {
            running.processAllAvailable()
            history.foreach(take(running, _))
          } finally running.stop()
          checkpoint
        }
        def written(to: String) =
          spark.read.parquet(new File(folder, to).getCanonicalPath).collect().map(_.toString).sorted.toSeq
        withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> withoutData.toString) {
          // Later rows come at the end, twice, so that all earlier windows are emitted.
          def steps(inputs: Inputs) = inputs.wandering ++ Seq("20:00", "21:00").map(t => inputs.step(0 -> t)(0 -> t))
          val straight = new Inputs
          write(carriedColumn(straight.a, straight.b), "straight")(steps(straight): _*)
          val inputs = new Inputs
          steps(inputs).foreach { step =>
            val checkpoint = write(carriedColumn(inputs.a, inputs.b), "killed")(step)
            val last = batchesIn(checkpoint, "offsets").last
            forget(checkpoint, "commits", last)
            forget(checkpoint, "tidemark", last)
          }
          write(carriedColumn(inputs.a, inputs.b), "killed")()
          assert(written("straight").nonEmpty)
          assert(written("killed") === written("straight"))
        }
      }
    }

  // The batch has data, so that its tasks have rows to fail at.
  for (where <- Seq("a task", "the sink"))
    testMore(s"a batch that fails in $where gives the same result when it runs again") {
      val straight = new Inputs
      val expected = record("append", carriedColumn(straight.a, straight.b), straight.wandering)
      assert(expected.flatMap(_.operators).map(_.late).sum > 0)
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        val watched = udf((time: Long) => RestartSuite.fragile(time)).asNondeterministic()
        def query = carriedColumn(inputs.a.where(watched($"ta".cast("long"))), inputs.b)
        val (before, after) = inputs.wandering.splitAt(3)
        recorder.run(query)(before: _*)
        val last = recorder.batches.last.id
        if (where == "a task") RestartSuite.isFailing = true else recorder.atSink = () => RestartSuite.fail()
        val failed = intercept[StreamingQueryException](recorder.run(query)(after.head))
        assert(causes(failed).exists(_.getMessage.contains(RestartSuite.Why)))
        assert(batchesIn(checkpoint, "commits").last === last)
        RestartSuite.isFailing = false
        recorder.atSink = () => ()
        recorder.run(query)()
        recorder.run(query)(after.tail: _*)
        assertSameBatches(recorder.batches.map(_.copy(step = 0)), expected.map(_.copy(step = 0)))
      }
    }

  // The table marks an input with data by `x`, hour by hour. The watermark of the slowest input, 1, is 5:30 - 10 min
  // after six runs. Eight of twelve windows have closed: 1, 2 and 4 of the first input, 1, 3 and 4 of the second, and
  // 2 and 3 of the third.
  //   run    1 2 3 4 5 6
  //   first  x x   x x
  //   second x   x x   x
  //   third    x x   x x
  private val dataOfRuns = Seq(Seq(0, 1), Seq(0, 2), Seq(1, 2), Seq(0, 1), Seq(0, 2), Seq(1, 2))

  private def availableNow(): Seq[BatchRun] = {
    val streams = Seq.fill(3)(MemoryStream[Event])
    def query = streams.zipWithIndex
      .map { case (stream, input) =>
        stream.toDF()
          .select(lit(input).as("input"), timestamp_seconds($"_2").as("t"))
          .withWatermark("t", "10 minutes")
      }
      .reduce(_ union _)
      .groupBy(window($"t", "1 hour"), $"input")
      .count()
      .select($"input", hour($"window.start"))
    var batches = Seq.empty[BatchRun]
    withTempDir { checkpoint =>
      val recorder = new Recorder("append", checkpoint)
      for ((inputs, run) <- dataOfRuns.zipWithIndex) {
        inputs.foreach(input => streams(input).addData((input, Option(millis(s"${run + 1}:30") / 1000))))
        recorder.run(query, Trigger.AvailableNow())()
      }
      batches = recorder.batches
    }
    batches
  }

  test("Trigger.AvailableNow runs, each with data on two of three inputs, emit the eight windows that have closed") {
    assert(
      rows(availableNow()) ===
        Seq("[0,1]", "[0,2]", "[0,4]", "[1,1]", "[1,3]", "[1,4]", "[2,2]", "[2,3]"))
  }

  testMore("Trigger.AvailableNow runs, each with data on two of three inputs, emit no window in stock Spark") {
    val batches = stock(availableNow())
    assert(rows(batches) === Nil)
    assert(batches.last.eventTime("watermark") === "1970-01-01T00:00:00.000Z")
  }
}

private object RestartSuite {
  val Why = "a batch that fails"
  @volatile var isFailing = false

  def fragile(time: Long): Boolean = {
    if (isFailing) fail()
    time >= 0
  }

  def fail(): Unit = throw new IllegalStateException(Why)
}
