package org.apache.spark.sql.tidemark.exec.order

import java.sql.Timestamp

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.support.{OrderTest, RefusalsTest, SeenRows}
import org.apache.spark.sql.types.MetadataBuilder

/** Queries in which rows cannot wait, and how each is refused. Without waiting, all of them run. */
class OrderRefusalsSuite extends RefusalsTest with OrderTest {
  import testImplicits._

  private val atOnce = byId.copy(waits = false)

  private def refused(query: DataFrame => DataFrame, mode: OutputMode = OutputMode.Append)(
      code: String,
      parameters: (String, String)*): Unit = {
    val (stream, df) = timed("t", "0 seconds")
    testStream(query(df), mode)(AddData(stream, 1 -> at("10:00")), expectRefusal(code, parameters: _*))
  }

  private def runs(query: DataFrame => DataFrame, mode: OutputMode = OutputMode.Append): Unit = {
    val (stream, df) = timed("t", "0 seconds")
    testStream(query(df), mode)(AddData(stream, 1 -> at("10:00"), 1 -> at("9:59")), ProcessAllAvailable(), StopStream)
  }

  private def windows(df: DataFrame) = df.groupBy(window($"t", "10 minutes"), $"id").count()

  for (mode <- Seq(OutputMode.Update, OutputMode.Complete))
    test(s"rows do not wait above an aggregation that emits a group again and again, in mode ${mode.toString}") {
      refused(df => inOrder(windows(df), "window", byId), mode)(
        "ORDER_OF_UPDATES",
        "column" -> "window",
        "operator" -> "aggregation")
      runs(df => inOrder(windows(df), "window", atOnce), mode)
      runs(df => windows(inOrder(df, "t", byId)), mode)
    }

  for ((setting, value) <- Seq(
      SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max",
      SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE.key -> "false",
      "spark.tidemark.enabled" -> "false"))
    test(s"rows do not wait in a query that is left to Spark by $setting=$value") {
      withSQLConf(setting -> value) {
        refused(inOrder(_, "t", byId))(
          "LEFT_TO_SPARK",
          "reason" -> s"$setting=$value",
          "need" -> "holds rows in the order of 't'")
        runs(df => seen(inOrder(df, "t", atOnce)))
        assert(SeenRows.byId === Map(1 -> Seq(at("9:59"), at("10:00"))))
      }
    }

  test("rows are ordered by rising values, and a tie is broken when the rows are emitted") {
    val reason =
      "orders by 'id DESC NULLS LAST', but it always orders by rising values: give the column, or its negative, " +
        "such as -n"
    for (options <- Seq(
        byId.copy(thenBy = Seq($"id".desc)),
        OrderOptions(by = Seq($"id".desc)),
        atOnce.copy(thenBy = Seq($"id".desc))))
      assertRefused("INVALID_ORDER", "reason" -> reason)(inOrder(timed("t", "0 seconds")._2, "t", options))
  }

  test("in SQL an order belongs to the rows of its own FROM, as a condition of WHERE, and has no subquery") {
    val (_, df) = timed("t", "0 seconds")
    df.createOrReplaceTempView("readings")
    Seq(1).toDF("key").createOrReplaceTempView("keys")
    for (query <- Seq(
        "SELECT * FROM readings WHERE EXISTS (SELECT 1 FROM keys WHERE key = id AND tidemark_in_order(t, '{}', id))",
        "SELECT * FROM readings, LATERAL (SELECT id AS q WHERE tidemark_in_order(t, '{}', id))",
        "SELECT * FROM readings WHERE tidemark_in_order(t, '{}', id > (SELECT max(key) FROM keys))"))
      withClue(query)(assertRefused("INVALID_ORDER")(sql(query)))
    for (query <- Seq(
        "SELECT tidemark_in_order(t, '{}', id) c, count(*) FROM readings GROUP BY 1",
        "SELECT * FROM readings ORDER BY tidemark_in_order(t, '{}', id)",
        "SELECT r.* FROM readings r JOIN keys ON id = key AND tidemark_in_order(r.t, '{}', r.id)"))
      withClue(query)(assertRefused("MISPLACED_ORDER")(sql(query)))
  }

  test("a setting that adds orders is refused in a query that is left to Spark, if it would add one") {
    withSQLConf(
      SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max",
      "spark.tidemark.order" -> "event_time") {
      refused(counted)(
        "LEFT_TO_SPARK",
        "reason" -> s"${SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key}=max",
        "need" -> "puts rows into event-time order, as spark.tidemark.order=event_time asks")
      refused(_.dropDuplicates("id"))("LEFT_TO_SPARK")
      runs(windows)
      runs(df => counted(df.select($"id", $"t".cast("string").cast("timestamp").as("t"))))
    }
  }

  test("rows do not wait in a state store that encodes them as Avro") {
    withSQLConf(
      SQLConf.STREAMING_STATE_STORE_ENCODING_FORMAT.key -> "avro",
      SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName) {
      refused(inOrder(_, "t", byId))("ORDER_STATE_ENCODING", "column" -> "t", "encoding" -> "avro")
      runs(inOrder(_, "t", atOnce))
    }
  }

  test("a column with the mark of another query's watermark is refused") {
    val marked = new MetadataBuilder().putLong("spark.watermarkDelayMs", 0L).build()
    val stream = MemoryStream[(Int, Timestamp)]
    val ordered = inOrder(stream.toDF().select($"_1".as("id"), $"_2".as("t", marked)), "t")
    testStream(ordered)(
      AddData(stream, 1 -> at("10:00")),
      expectRefusal("ORDER_NOT_EVENT_TIME", "column" -> "t"))
  }

  test("an order that cannot be is refused by name") {
    val (_, df) = timed("t", "0 seconds")
    assertRefused("ORDER_NOT_EVENT_TIME")(inOrder(df, "id"))
    assertRefused("INVALID_ORDER")(df.where("tidemark_in_order(t, '{\"then\": 3}', id)"))
    assertRefused("INVALID_ORDER")(df.where("tidemark_in_order(t, '{\"late\": \"keep\"}')"))
    assertRefused("INVALID_ORDER")(df.where("tidemark_in_order(t, '{}', rand())"))
    assertRefused("INVALID_ORDER")(df.where("tidemark_in_order(t, '{}', map(id, id))"))
    assertRefused("INVALID_ORDER")(inOrder(df, "t", OrderOptions(by = Seq(window($"t", "1 hour")))))
    assertRefused("INVALID_ORDER")(inOrder(df, "t", OrderOptions(by = Seq(explode(array($"id"))))))
    assertRefused("INVALID_ORDER")(df.where("tidemark_in_order(t)"))
    assertRefused("MISPLACED_ORDER")(df.where("NOT tidemark_in_order(t, '{}')"))
    assertRefused("MISPLACED_ORDER")(df.selectExpr("tidemark_in_order(t, '{}')"))
  }
}
