package org.apache.spark.sql.tidemark.exec.order

import io.tidemark.{OrderOptions, TidemarkException}
import io.tidemark.functions.inOrder

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.support.{OrderTest, RefusalsTest, SeenRows}

/** Queries in which rows cannot wait, and how each is refused. Without waiting, all of them run. */
class OrderRefusalsSuite extends RefusalsTest with OrderTest {
  import testImplicits._

  private val byId = OrderOptions(by = Seq($"id"))
  private val atOnce = byId.copy(waits = false)

  private def refused(query: DataFrame => DataFrame, mode: OutputMode = OutputMode.Append)(
      code: String,
      parts: String*): Unit = {
    val (stream, df) = timed("t", "0 seconds")
    testStream(query(df), mode)(AddData(stream, 1 -> at("10:00")), refusal(code, parts: _*))
  }

  private def runs(query: DataFrame => DataFrame, mode: OutputMode = OutputMode.Append): Unit = {
    val (stream, df) = timed("t", "0 seconds")
    testStream(query(df), mode)(AddData(stream, 1 -> at("10:00"), 1 -> at("9:59")), ProcessAllAvailable(), StopStream)
  }

  private def windows(df: DataFrame) = df.groupBy(window($"t", "10 minutes"), $"id").count()

  for (mode <- Seq(OutputMode.Update, OutputMode.Complete))
    test(s"rows do not wait above an aggregation that emits a group again and again, in mode ${mode.toString}") {
      refused(df => inOrder(windows(df), "window", byId), mode)("ORDER_OF_UPDATES", "'window'", "above the aggregation")
      runs(df => inOrder(windows(df), "window", atOnce), mode)
      runs(df => windows(inOrder(df, "t", byId)), mode)
    }

  for ((setting, value) <- Seq(
      SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max",
      SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE.key -> "false",
      "spark.tidemark.enabled" -> "false"))
    test(s"rows do not wait in a query that is left to Spark by $setting=$value") {
      withSQLConf(setting -> value) {
        refused(inOrder(_, "t", byId))("LEFT_TO_SPARK", s"$setting=$value", "order of 't'")
        runs(df => seen(inOrder(df, "t", atOnce)))
        assert(SeenRows.byId === Map(1 -> Seq(at("9:59"), at("10:00"))))
      }
    }

  test("rows are ordered by rising values, and a tie is broken when the rows are emitted") {
    def says(part: String)(order: DataFrame => DataFrame) = {
      val (_, df) = timed("t", "0 seconds")
      assert(intercept[TidemarkException](order(df)).getMessage.contains(part))
    }
    says("always orders by rising values")(inOrder(_, "t", byId.copy(thenBy = Seq($"id".desc))))
    says("always orders by rising values")(inOrder(_, "t", OrderOptions(by = Seq($"id".desc))))
    says("always orders by rising values")(df => inOrder(df, "t", atOnce.copy(thenBy = Seq($"id".desc))))
  }

  test("in SQL an order belongs to the rows of its own FROM, as a condition of WHERE, and has no subquery") {
    val (_, df) = timed("t", "0 seconds")
    df.createOrReplaceTempView("readings")
    Seq(1).toDF("key").createOrReplaceTempView("keys")
    def says(part: String)(query: String) =
      assert(intercept[TidemarkException](sql(query)).getMessage.contains(part), query)
    val outside = "a column of the query outside"
    says(outside)(
      "SELECT * FROM readings WHERE EXISTS (SELECT 1 FROM keys WHERE key = id AND tidemark_in_order(t, '{}', id))")
    says(outside)("SELECT * FROM readings, LATERAL (SELECT id AS q WHERE tidemark_in_order(t, '{}', id))")
    says("has a subquery")("SELECT * FROM readings WHERE tidemark_in_order(t, '{}', id > (SELECT max(key) FROM keys))")
    says("MISPLACED_ORDER")("SELECT tidemark_in_order(t, '{}', id) c, count(*) FROM readings GROUP BY 1")
    says("MISPLACED_ORDER")("SELECT * FROM readings ORDER BY tidemark_in_order(t, '{}', id)")
    says("MISPLACED_ORDER")("SELECT r.* FROM readings r JOIN keys ON id = key AND tidemark_in_order(r.t, '{}', r.id)")
  }

  test("a setting that adds orders is refused in a query that is left to Spark, if it would add one") {
    withSQLConf(
      SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max",
      "spark.tidemark.order" -> "event_time") {
      refused(counted)("LEFT_TO_SPARK", "multipleWatermarkPolicy=max", "spark.tidemark.order=event_time")
      refused(_.dropDuplicates("id"))("LEFT_TO_SPARK")
      runs(windows)
      runs(df => counted(df.select($"id", $"t".cast("string").cast("timestamp").as("t"))))
    }
  }

  test("rows do not wait in a state store that encodes them as Avro") {
    withSQLConf(
      SQLConf.STREAMING_STATE_STORE_ENCODING_FORMAT.key -> "avro",
      SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName) {
      refused(inOrder(_, "t", byId))("ORDER_STATE_ENCODING", "'t'", "encoding avro", "encodingFormat=unsaferow")
      runs(inOrder(_, "t", atOnce))
    }
  }
}
