package org.apache.spark.sql.tidemark.exec.eviction

import java.io.File

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{BatchRun, TwoStreams}

/** A query that is stopped between a skipped scan of its state and a due one emits each window once, as stock Spark does. */
class DueWindowsRestartSuite extends TwoStreams {

  private def hourly(events: DataFrame): DataFrame =
    events.groupBy(window(col("ta"), "1 hour").as("w"), col("a")).count()
      .select(date_format(col("w.end"), "HH:mm"), col("a"), col("count"))

  /** Windows end in the third, the sixth and the last two steps. Rows of windows that have ended follow. */
  private def steps(inputs: Inputs): Seq[Step] = Seq(
    inputs.step(1 -> "10:05", 2 -> "10:10")(),
    inputs.step(1 -> "10:20", 3 -> "10:15")(),
    inputs.step(2 -> "11:05", 1 -> "10:50")(),
    inputs.step(1 -> "10:59", 1 -> "11:20")(),
    inputs.step(3 -> "11:40")(),
    inputs.step(1 -> "12:30", 2 -> "11:59")(),
    inputs.step(2 -> "11:50", 2 -> "12:10")(),
    inputs.step(1 -> "15:00")(),
    inputs.step(1 -> "20:00")())

  /** All rows of a query with several runs. Each takes two steps, as the first batch of a run skips no scan.
    * @param stop what a run leaves of its last batch
    */
  private def emitted(stop: (File, BatchRun) => Unit): Seq[String] = {
    var emitted = Seq.empty[String]
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      for (two <- steps(inputs).grouped(2)) {
        recorder.run(hourly(inputs.a))(two: _*)
        stop(checkpoint, recorder.batches.last)
      }
      recorder.run(hourly(inputs.a))()
      emitted = rows(recorder.batches)
    }
    emitted
  }

  private def beforeItsCommit(checkpoint: File, last: BatchRun): Unit = forget(checkpoint, "commits", last.id)

  /** Forgets a no-data batch whole. The batch before it has skipped the scan, and in this one a window was due. */
  private def beforeItsOffsets(checkpoint: File, last: BatchRun): Unit =
    if (!last.eventTime.contains("max"))
      for (log <- Seq("commits", "tidemark", "offsets")) forget(checkpoint, log, last.id)

  /** @param ours where runs are stopped
    * @param theirs the same on stock Spark: it has no entry, so each moment of a batch is the same
    */
  private def emittedOnce(moment: String)(ours: (File, BatchRun) => Unit, theirs: (File, BatchRun) => Unit): Unit =
    test(s"windows are emitted once, as in stock Spark, if runs are stopped in their last batch $moment") {
      val expected = stock(emitted(theirs))
      assert(expected.size === 9 && expected.distinct === expected)
      assert(emitted(ours) === expected)
    }

  emittedOnce("while its entry is written")((checkpoint, last) => cutEntry(checkpoint, last.id), beforeItsCommit)

  moreTests {
    emittedOnce("after its commit")((_, _) => (), (_, _) => ())
    emittedOnce("between its entry and its commit")(beforeItsCommit, beforeItsCommit)
    emittedOnce("before its entry")(
      { (checkpoint, last) =>
        beforeItsCommit(checkpoint, last)
        forget(checkpoint, "tidemark", last.id)
      },
      beforeItsCommit)
    emittedOnce("before its offsets")(beforeItsOffsets, beforeItsOffsets)
  }
}
