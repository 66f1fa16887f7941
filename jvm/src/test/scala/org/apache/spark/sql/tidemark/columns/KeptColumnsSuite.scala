package org.apache.spark.sql.tidemark.columns

import java.sql.Timestamp

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** A column that gets a key and options stays the same column: what refers to it goes on working. */
class KeptColumnsSuite extends RefusalsTest {
  import testImplicits._

  private def readings: (MemoryStream[(String, Timestamp)], DataFrame) = {
    val stream = MemoryStream[(String, Timestamp)]
    (stream, stream.toDF().toDF("k", "t"))
  }

  private def keyed(df: DataFrame, key: String, column: String = "t"): DataFrame =
    withWatermark(df, column, "10 minutes", WatermarkOptions(key = Some(key), idle = Idle("1 hour")))

  test("a join condition may name the columns of the DataFrames as they were before their keyed watermarks") {
    val (stream, df) = readings
    val other = df.select($"k".as("k2"), $"t".as("t2"))
    val within = df("k") === other("k2") && other("t2") >= df("t") && other("t2") <= df("t") + expr("INTERVAL 1 HOUR")
    val joined = keyed(
      df,
      "x").join(keyed(other, "y", "t2"), within).select(date_format($"t", "HH:mm"), date_format($"t2", "HH:mm"))
    testStream(joined)(
      AddData(stream, "a" -> at("10:00"), "a" -> at("10:30"), "a" -> at("12:00")),
      CheckAnswer("10:00" -> "10:00", "10:00" -> "10:30", "10:30" -> "10:30", "12:00" -> "12:00"),
      originsAre("x" -> Some(millis("11:50")), "y" -> Some(millis("11:50"))))
  }

  test("a watermark on a column that does not exist is refused as in stock Spark") {
    val (_, df) = readings
    intercept[AnalysisException](df.withWatermark("missing", "1 minute"))
  }

  test("an alias that was given before a keyed watermark reaches its column, also where the input is split") {
    val (stream, df) = readings
    val options = WatermarkOptions(key = Some("x"), splitBy = SplitBy(upper($"k"), $"k"))
    val marked = withWatermark(df.as("e"), "t", "10 minutes", options)
    testStream(marked.groupBy(window($"e.t", "1 hour"), $"e.k").count().select($"k", $"count"))(
      AddData(stream, "a" -> at("10:00"), "a" -> at("10:30"), "a" -> at("12:00")),
      CheckAnswer("a" -> 2L))
  }

  test("two keyed watermarks on one DataFrame have their own clocks in a union and in a join") {
    for (combine <- Seq[(DataFrame, DataFrame) => DataFrame](
        _.union(_).select($"t"),
        (a, b) => a.as("a").join(b.as("b"), expr("a.k = b.k AND a.t = b.t")).select($"a.t")))
      withClue(combine) {
        val (stream, df) = readings
        val (all, some) =
          (keyed(df, "all"), withWatermark(df, "t", "1 hour", WatermarkOptions(key = Some("some"))))
        testStream(combine(all, some).select(date_format($"t", "HH:mm")))(
          AddData(stream, "a" -> at("10:00"), "b" -> at("12:00")),
          ProcessAllAvailable(),
          originsAre("all" -> Some(millis("11:50")), "some" -> Some(millis("11:00"))))
      }
  }

  test("the DataFrame with a keyed watermark may be joined with itself") {
    val (stream, df) = readings
    val marked = keyed(df, "x")
    testStream(marked.as("a").join(
      marked.as("b"),
      expr("a.k = b.k AND a.t = b.t")).select(date_format($"a.t", "HH:mm")))(
      AddData(stream, "a" -> at("10:00")),
      CheckAnswer("10:00"),
      originsAre("x" -> Some(millis("9:50"))))
  }

  test("options reach a batch's plan from columns that the optimizer replaces: of files, and renamed to themselves") {
    val far = Timestamp.valueOf("2100-01-01 00:00:00")
    for (rename <- Seq(false, true)) withTempDir { folder =>
      Seq("a" -> at("10:00"), "a" -> far).toDF("k", "t").write.parquet(s"$folder/in")
      val files = spark.readStream.schema("k STRING, t TIMESTAMP").parquet(s"$folder/in")
      val input = if (rename) files.select($"k", $"t".as("t")) else files
      val marked = withWatermark(input, "t", "0 seconds", WatermarkOptions(maxAhead = Some("1 day")))
      val query = marked.groupBy(window($"t", "1 hour")).count().writeStream
        .trigger(Trigger.AvailableNow())
        .option("checkpointLocation", s"$folder/checkpoint")
        .format("noop")
        .start()
      try query.processAllAvailable()
      finally query.stop()
      assert(query.exception.isEmpty)
      assert(entry(new java.io.File(s"$folder/checkpoint"), 0).origins.values.map(_.farAheadRows).toSeq === Seq(1L))
    }
  }

  test("a column that is selected twice, renamed or computed gets its options as another column") {
    val (stream, df) = readings
    val options = """'{"key": "x"}'"""
    val several = df.selectExpr("k", "t", s"tidemark_event_time(t, $options) AS u", "t + INTERVAL 1 HOUR AS v")
    assert(several.columns === Seq("k", "t", "u", "v"))
    testStream(several.withWatermark("u", "10 minutes").groupBy(window($"u", "1 hour")).count().select($"count"))(
      AddData(stream, "a" -> at("10:00"), "a" -> at("12:00")),
      CheckAnswer(1L),
      originsAre("x" -> Some(millis("11:50"))))
    val computed = df.selectExpr("k", s"tidemark_event_time(t + INTERVAL 1 HOUR, $options) AS t")
    testStream(computed.withWatermark("t", "10 minutes").select($"k"))(
      AddData(stream, "a" -> at("10:00")),
      ProcessAllAvailable(),
      Execute((query: StreamExecution) => assert(query.exception.isEmpty)),
      originsAre("x" -> Some(millis("10:50"))))
  }

  test("a keyed watermark above another one of the same column has options of its own") {
    val (stream, df) = readings
    testStream(keyed(keyed(df, "x"), "y").groupBy(window($"t", "1 hour")).count().select($"count"))(
      AddData(stream, "a" -> at("10:00"), "a" -> at("12:00")),
      CheckAnswer(1L),
      originsAre("x" -> Some(millis("11:50")), "y" -> Some(millis("11:50"))))
    testStream(keyed(df, "x").withWatermark("t", "1 hour").groupBy(window($"t", "1 hour")).count().select($"count"))(
      AddData(stream, "a" -> at("10:00"), "a" -> at("12:00")),
      ProcessAllAvailable(),
      originsAre("x" -> Some(millis("11:50")), "t" -> Some(millis("11:00"))))
  }
}
