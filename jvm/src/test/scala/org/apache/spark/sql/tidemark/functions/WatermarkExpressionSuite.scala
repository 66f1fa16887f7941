package org.apache.spark.sql.tidemark.functions

import java.sql.Timestamp

import io.tidemark.WatermarkOptions
import io.tidemark.functions.{currentWatermark, isLate, withWatermark}

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.execution.debug.codegenStringSeq
import org.apache.spark.sql.execution.streaming.runtime.{
  MemoryStream,
  MicroBatchExecution,
  StreamExecution,
  StreamingQueryWrapper
}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** `current_watermark` and `is_late` say by what the rows of a batch are late, at their place in the plan. */
class WatermarkExpressionSuite extends WatermarkTest {
  import testImplicits._

  override protected def generatesCode: Boolean = true

  /** A stateless query runs no batch without data: what a batch has seen is the watermark two batches later. */
  private def anotherBatch(stream: MemoryStream[(Int, Timestamp)]): StreamAction =
    AddData(stream, 0 -> new Timestamp(0))

  private def clock(time: Column) = date_format(time, "HH:mm")

  for (mode <- generated)
    test(s"current_watermark and is_late use the watermark of the previous batch ($mode)") {
      withCode(mode) {
        val (stream, df) = timed("time", "10 minutes")
        testStream(df.select($"id", clock(expr("current_watermark()")), isLate($"time")))(
          AddData(stream, 1 -> at("12:00"), 2 -> at("0:01")),
          // No watermark yet.
          CheckNewAnswer(Row(1, null, false), Row(2, null, false)),
          AddData(stream, 0 -> at("11:00")),
          CheckNewAnswer(Row(0, null, false)),
          AddData(stream, 3 -> at("11:50"), 4 -> at("11:51"), 5 -> null, 6 -> at("13:00")),
          CheckNewAnswer(
            Row(3, "11:50", true),
            Row(4, "11:50", false),
            Row(5, "11:50", false),
            Row(6, "11:50", false)),
          StopStream,
          StartStream(),
          AddData(stream, 7 -> at("12:50")),
          CheckNewAnswer(Row(7, "11:50", false)),
          AddData(stream, 8 -> at("12:50")),
          CheckNewAnswer(Row(8, "12:50", true)))
      }
    }

  test("current_watermark differs by column, and a join holds it back by its time range") {
    val (left, a) = timed("a", "0 seconds", "l")
    val (right, b) = timed("b", "0 seconds", "r")
    val within = expr("l = r AND b BETWEEN a - INTERVAL 5 MINUTES AND a + INTERVAL 5 MINUTES")
    val read = a
      .withColumn("before", currentWatermark($"a"))
      .join(b, within)
      .select($"l", clock($"before"), clock(currentWatermark($"a")), clock(currentWatermark($"b")))
    testStream(read)(
      MultiAddData(left, 1 -> at("12:00"))(right, 0 -> at("13:00")),
      ProcessAllAvailable(),
      MultiAddData(left, 2 -> at("13:00"))(right, 2 -> at("13:01")),
      CheckNewAnswer(Row(2, "12:00", "12:00", "11:54")))
  }

  test("current_watermark with a key works on every input of the query") {
    val (left, a) = timed("a", "0 seconds")
    val (right, b) = timed("b", "0 seconds")
    val marked = b.withColumn("other", clock(currentWatermark("b")))
    testStream(a.withColumn("other", clock(currentWatermark("b"))).union(marked).select("id", "other"))(
      MultiAddData(left, 1 -> at("12:00"))(right, 2 -> at("9:00")),
      CheckNewAnswer(Row(1, null), Row(2, null)),
      anotherBatch(left),
      CheckNewAnswer(Row(0, null)),
      AddData(left, 3 -> at("12:00")),
      CheckNewAnswer(Row(3, "09:00")))
  }

  test("is_late and current_watermark of a window use the window's end") {
    val (stream, df) = timed("time", "0 seconds")
    val counted = df.groupBy(window($"time", "10 minutes").as("w")).count()
    testStream(counted.select($"count", isLate($"w"), clock(currentWatermark($"w"))), OutputMode.Update)(
      AddData(stream, 1 -> at("12:00")),
      CheckNewAnswer(Row(1, false, null)),
      AddData(stream, 1 -> at("12:05")),
      CheckNewAnswer(Row(2, false, "12:00")))
  }

  test("is_late selects the rows that an operator at the same place would drop") {
    val (stream, df) = timed("time", "0 seconds")
    testStream(df.filter(isLate($"time")).select($"id"))(
      AddData(stream, 1 -> at("12:00")),
      CheckNewAnswer(),
      AddData(stream, 5 -> at("12:00")),
      CheckNewAnswer(),
      AddData(stream, 2 -> at("11:00"), 3 -> at("12:00"), 4 -> at("12:01")),
      CheckNewAnswer(2, 3))
  }

  test("is_late works inside an aggregation, in SELECT and in GROUP BY") {
    val (stream, df) = timed("time", "0 seconds")
    df.createOrReplaceTempView("readings")
    val counted =
      spark.sql("SELECT is_late(time), count(*), count_if(is_late(time)) FROM readings GROUP BY is_late(time)")
    testStream(counted, OutputMode.Update)(
      AddData(stream, 1 -> at("12:00")),
      CheckNewAnswer(Row(false, 1, 0)),
      AddData(stream, 2 -> at("11:00"), 3 -> at("11:30")),
      CheckNewAnswer(Row(true, 2, 2)))
  }

  test("observe counts late rows with is_late") {
    val (stream, df) = timed("time", "0 seconds")
    val counted = df.observe("late", count_if(isLate($"time")).as("rows"), max(currentWatermark()).as("at"))
    testStream(counted.select("id"))(
      AddData(stream, 1 -> at("12:00")),
      CheckNewAnswer(1),
      AddData(stream, 1 -> at("12:00")),
      CheckNewAnswer(1),
      AddData(stream, 2 -> at("11:00"), 3 -> at("11:30"), 4 -> at("12:30")),
      CheckNewAnswer(2, 3, 4),
      Execute { query =>
        assert(observed(query, "late") === Row(2, at("12:00")))
      })
  }

  test("the generated code of is_late and current_watermark is the same for every batch") {
    val (stream, df) = timed("time", "0 seconds")
    val read = df.select($"id", isLate($"time"), currentWatermark($"time"))
    def code(query: StreamExecution) =
      codegenStringSeq(query.lastExecution.executedPlan).map(_._2)
    var first = Seq.empty[String]
    testStream(read)(
      AddData(stream, 1 -> at("11:00")),
      ProcessAllAvailable(),
      AddData(stream, 1 -> at("11:30")),
      ProcessAllAvailable(),
      AddData(stream, 1 -> at("12:00")),
      ProcessAllAvailable(),
      Execute { query => first = code(query); assert(first.nonEmpty) },
      AddData(stream, 1 -> at("13:00")),
      ProcessAllAvailable(),
      Execute(query => assert(code(query) === first)))
  }

  test("a batch query has no current_watermark and no late rows") {
    val df = Seq(at("12:00")).toDF("time").withWatermark("time", "0 seconds")
    checkAnswer(df.select(currentWatermark(), currentWatermark($"time"), isLate($"time")), Row(null, null, false))
    checkAnswer(df.agg(count_if(isLate($"time"))), Row(0))
  }

  test("is_late is computed in the stream, and is false for the DataFrame inside foreachBatch") {
    val (stream, df) = timed("time", "0 seconds")
    var seen = Seq.empty[Row]
    val query = df.withColumn("late", isLate($"time")).writeStream.foreachBatch { (batch: DataFrame, _: Long) =>
      seen ++= batch.select($"id", $"late", isLate($"time")).collect()
    }.start()
    try {
      stream.addData(1 -> at("12:00"))
      query.processAllAvailable()
      stream.addData(1 -> at("12:00"))
      query.processAllAvailable()
      stream.addData(2 -> at("11:00"))
      query.processAllAvailable()
    } finally query.stop()
    assert(seen === Seq(Row(1, false, false), Row(1, false, false), Row(2, true, false)))
  }

  /** Runs the query, which in each batch does to its thread what it likes, with one row at a time. */
  private def batchesOf(df: DataFrame, stream: MemoryStream[(Int, Timestamp)], clocks: String*)(
      check: StreamExecution => Unit): Seq[Row] = {
    var seen = Seq.empty[Row]
    val query = df.writeStream.foreachBatch { (batch: DataFrame, _: Long) =>
      seen ++= batch.collect()
      sparkContext.setJobGroup("mine", "a group of jobs")
      sparkContext.setLocalProperty(MicroBatchExecution.BATCH_ID_KEY, "mine")
    }.start()
    try {
      clocks.foreach { clock =>
        stream.addData(1 -> at(clock))
        query.processAllAvailable()
      }
      check(query.asInstanceOf[StreamingQueryWrapper].streamingQuery)
    } finally query.stop()
    seen
  }

  test("a job group that foreachBatch sets on its thread does not change is_late or current_watermark") {
    val (stream, df) = timed("time", "0 seconds")
    val read = df.select(clock($"time"), isLate($"time"), clock(currentWatermark()))
    assert(batchesOf(read, stream, "12:00", "12:30", "11:00", "13:00")(_ => ()) === Seq(
      Row("12:00", false, null),
      Row("12:30", false, null),
      Row("11:00", true, "12:00"),
      Row("13:00", false, "12:30")))
  }

  test("a job group that foreachBatch sets on its thread does not disable max_ahead") {
    val stream = MemoryStream[(Int, Timestamp)]
    val shifted = stream.toDF().toDF("id", "time").withColumn("time", $"time" + expr("INTERVAL 100 YEARS") * $"id")
    val df = withWatermark(shifted.where("id >= 0"), "time", "0 seconds", WatermarkOptions(maxAhead = Some("1 hour")))
    // The shuffle has parts of the plan planned on their own.
    batchesOf(df.repartition(2), stream, "12:00", "12:30") { query =>
      val Seq(origin) = watermarksOf(query).view.get.snapshot.entry.origins.values.toSeq: @unchecked
      assert(origin.farAheadRows === 2)
      assert(origin.maxEventTimeMillis === None)
    }
  }
}
