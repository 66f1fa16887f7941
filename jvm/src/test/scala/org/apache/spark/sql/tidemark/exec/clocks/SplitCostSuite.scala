package org.apache.spark.sql.tidemark.exec.clocks

import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicInteger

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.support.SplitInputs
import org.apache.spark.util.SizeEstimator

/** What splits cost: no job, no break in generated code, little memory; and what Spark tells of a batch stays as it was. */
class SplitCostSuite extends SplitInputs {
  import testImplicits._

  override protected def generatesCode: Boolean = true

  testMore("a query may have 100,000 splits in its first batch") {
    val stream = MemoryStream[Int]
    val df = stream.toDF().select($"value".as("device"), timestamp_seconds($"value" % 1000 + 1000000).as("time"))
    testStream(counted(split(df, $"device")))(
      AddData(stream, 0 until 100000: _*),
      ProcessAllAvailable(),
      Execute { query =>
        assert(watermarksOf(query).view.get.snapshot.entry.origins.values.head.splits.size === 100000)
        assert(watermarksOf(query).view.get.snapshot.decision.origins.values.flatMap(_.millis).toSeq ===
          Seq(1000000000L))
        val report = new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get)
        val splits = report.get("inputs").get(0).get("splits")
        assert(splits.get("total").asInt === 100000 && splits.get("active").asInt === 100000)
        assert(splits.get("worst").size === 5)
        splits.get("worst").forEach(worst => assert(worst.get("clock_ms").asLong === 1000000000L))
      })
  }

  test("the watermark operator is part of the generated code around it, with and without splits") {
    val (stream, df) = readings
    for ((marked, expected) <- Seq(
        df.withWatermark("time", "0 seconds") -> Seq("CodegenEventTimeWatermarkExec"),
        split(df, $"device") -> Seq("CodegenEventTimeWatermarkExec", "SplitClocksExec")))
      testStream(counted(marked.filter($"n" > 0)))(
        AddData(stream, ("a", at("10:00"), 1)),
        ProcessAllAvailable(),
        Execute { query =>
          val stages = query.lastExecution.executedPlan.collect { case stage: WholeStageCodegenExec => stage.child }
          val nodes = stages.flatMap(_.collect { case node => node.getClass.getSimpleName })
          assert(expected.forall(nodes.contains))
        })
  }

  test("splits run no Spark job of their own") {
    def jobs(run: => Unit): Int = {
      val begun = new AtomicInteger
      val listener = new SparkListener {
        override def onJobStart(job: SparkListenerJobStart): Unit = { begun.incrementAndGet(); () }
      }
      // Jobs of the test before are not counted.
      spark.sparkContext.listenerBus.waitUntilEmpty()
      spark.sparkContext.addSparkListener(listener)
      run
      spark.sparkContext.listenerBus.waitUntilEmpty()
      spark.sparkContext.removeSparkListener(listener)
      begun.get
    }
    def once(mark: DataFrame => DataFrame): Unit = {
      val (stream, df) = readings
      record(
        "append",
        counted(mark(df)),
        Seq(() => { stream.addData(("a", at("10:00"), 1), ("b", at("11:00"), 2)); () }))
      ()
    }
    val theirs = jobs(stock(once(_.withWatermark("time", "0 seconds"))))
    // The batches are the same, because both devices have rows in the same batch.
    assert(theirs > 0 && jobs(once(_.withWatermark("time", "0 seconds"))) === theirs)
    assert(jobs(once(split(_, lit("all")))) === theirs)
  }

  testMore("query progress has the same event times as in stock Spark, with and without splits or generated code") {
    val times = Seq("10:00", "10:07", "09:13", "11:59", "10:01").map(at)
    val rows = times.zipWithIndex.map { case (time, i) => ("a", new Timestamp(time.getTime + i * 17), i) } :+
      (("a", null, 9))
    def eventTimes(mark: DataFrame => DataFrame) = {
      val (stream, df) = readings
      val steps = rows.grouped(3).map(some => () => { stream.addData(some); () }).toSeq
      record("append", counted(mark(df)), steps).map(_.eventTime)
    }
    val expected = stock(eventTimes(_.withWatermark("time", "1 hour")))
    assert(expected.exists(_.contains("avg")))
    val marks = Seq[DataFrame => DataFrame](
      _.withWatermark("time", "1 hour"),
      withWatermark(_, "time", "1 hour", WatermarkOptions(splitBy = SplitBy($"device"))))
    for (mode <- generated; mark <- marks) withCode(mode)(assert(eventTimes(mark) === expected))
  }

  testMore("a million splits and their names take less than 64 MiB, and less than 100 MB with what a report reads") {
    val times = new MaxEventTimes
    for (number <- 0 until 1000000) times.observe(SplitNameTable.encode(Seq(Some(s"device-$number"))), number.toLong)
    val splits = Splits.none.observe(times, 0L, 0L, OnReturn.Hold)
    assert(splits.size === 1000000)
    assert(SizeEstimator.estimate(splits) <= (64L << 20))
    // All have rows again, while what was before is still there and a report has been asked for.
    val after = splits.observe(times, 0L, 5000L, OnReturn.Hold)
    val shown = after.detached
    assert(SizeEstimator.estimate(Seq(splits, after, shown)) <= 100000000L)
  }
}
