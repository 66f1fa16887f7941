package org.apache.spark.sql.tidemark.exec

import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicInteger

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.{MapOutputTrackerMaster, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.shuffle.FetchFailedException
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.test.TestSparkSession
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** Tasks that run twice: what they saw is counted once. */
class RetriedTasksSuite extends WatermarkTest {
  import testImplicits._

  // A task may fail, and is tried again.
  override protected def createSparkSession: TestSparkSession = {
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
    new TestSparkSession(new SparkContext("local[2,3]", "retries", sparkConf))
  }

  private val cases = Seq[(String, Column => Column, Column => Column)](
    ("is retried", RetriedTasksSuite.failingTask(_), identity),
    ("belongs to a stage that runs again", identity, RetriedTasksSuite.losingItsInput(_)))

  for ((which, read, add) <- cases)
    test(s"the rows of a task are counted once when the task $which") {
      RetriedTasksSuite.disturbed.set(0)
      val stream = MemoryStream[(String, Timestamp, Int)]
      val marked = withWatermark(
        stream.toDF().toDF("device", "time", "n"),
        "time",
        "0 seconds",
        WatermarkOptions(splitBy = SplitBy($"device"), maxAhead = Some("1 day")))
      val sums = marked
        .withColumn("n", read($"n"))
        .groupBy(window($"time", "10 minutes").as("w"))
        .agg(sum($"n").as("sum"))
        .select(date_format($"w.start", "HH:mm"), add($"sum"))
      testStream(sums, OutputMode.Update)(
        AddData(
          stream,
          ("a", at("10:00"), 1),
          ("b", at("10:05"), 2),
          ("a", new Timestamp(millis("11:00") + 3650 * 86400000L * 10), 4),
          ("a", at("10:01"), 3)),
        CheckNewAnswer(("10:00", 6L), ("11:00", 4L)),
        Execute { query =>
          assert(RetriedTasksSuite.disturbed.get > 0)
          val origin = watermarksOf(query).view.get.snapshot.entry.origins.values.head
          val clocks = (0 until origin.splits.size).map(s => origin.splits.name(s).head -> origin.splits.clock(s))
          assert(clocks.toMap === Map(Some("a") -> Some(millis("10:01")), Some("b") -> Some(millis("10:05"))))
          assert(origin.farAheadRows === 1)
        })
    }
}

private object RetriedTasksSuite {
  val disturbed = new AtomicInteger

  /** Fails the first time, when the task has read its rows. */
  def failingTask(value: Column): Column = {
    val read = udf { (n: Int) =>
      if (n == 3 && TaskContext.get().attemptNumber() == 0) {
        disturbed.incrementAndGet()
        throw new IllegalStateException("a task that fails")
      }
      n
    }
    read.asNondeterministic()(value)
  }

  /** Finds, the first time, that what the tasks before it have left is gone. */
  def losingItsInput(value: Column): Column = {
    val lost = udf { (sum: Long) =>
      if (TaskContext.get().stageAttemptNumber() == 0) {
        disturbed.incrementAndGet()
        val tracker = SparkEnv.get.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster]
        val shuffle = tracker.shuffleStatuses.keys.max
        tracker.unregisterAllMapAndMergeOutput(shuffle)
        throw new FetchFailedException(null, shuffle, -1L, -1, 0, "lost", null)
      }
      sum
    }
    lost.asNondeterministic()(value)
  }
}
