package org.apache.spark.sql.tidemark.check

import java.sql.Timestamp

import io.tidemark.{Idle, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes._
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}

/** What `explain` says of each kind of operator, and of what Spark refuses. */
class ExplainedOperatorsSuite extends ExplainTest {
  import testImplicits._

  private def raw: DataFrame = MemoryStream[(Int, Timestamp)].toDF().toDF("id", "at")

  private def codes(df: DataFrame, mode: OutputMode = Append): Seq[String] =
    explained(df, mode).findings.filter(_.severity.name != "info").map(_.code)

  private def withState(timeout: GroupStateTimeout): DataFrame = orders.as[(Int, Timestamp)]
    .groupByKey(_._1)
    .flatMapGroupsWithState(Append, timeout)((id: Int, _: Iterator[(Int, Timestamp)], _: GroupState[Int]) =>
      Iterator(id))
    .toDF()

  private val in = Seq("at")

  /** The inputs by which rows are late, and those that state waits for; `None` if it never leaves. */
  private def operators: Seq[(String, DataFrame, OutputMode, Seq[String], Option[Seq[String]])] = Seq(
    ("windows", windows(orders), Append, in, Some(in)),
    ("windows in update mode", windows(orders), Update, in, Some(in)),
    ("windows in complete mode", windows(orders), Complete, Nil, None),
    ("counts of each id", orders.groupBy("id").count(), Update, Nil, None),
    ("a total", orders.groupBy().count(), Update, Nil, Some(Nil)),
    ("deduplication by the time", orders.dropDuplicates("id", "at"), Append, in, Some(in)),
    ("deduplication without the time", orders.dropDuplicates("id"), Append, in, None),
    ("deduplication within the watermark", orders.dropDuplicatesWithinWatermark("id"), Append, in, Some(in)),
    ("a limit", orders.limit(10), Append, Nil, Some(Nil)),
    ("a function with event-time timeouts", withState(GroupStateTimeout.EventTimeTimeout), Append, in, Some(in)),
    ("a function without timeouts", withState(GroupStateTimeout.NoTimeout), Append, Nil, Some(Nil)))

  test("explain says of each operator by whom its rows are late, and whom its state waits for") {
    for ((kind, df, mode, late, evicted) <- operators) {
      val explanation = explained(df, mode)
      assert(explanation.inputs.size === 1, s"$kind: ${explanation.findings}")
      val waits = explanation.inputs.head.waits
      assert(waits.late.map(_.toString) === late, kind)
      assert(waits.evicted.map(_.map(_.toString)) === evicted, kind)
      assert(waits.evenIdle.isEmpty || waits.all.nonEmpty, kind)
    }
  }

  test("a refusal that is about something else is told in Spark's words") {
    val paid = timed("paid", "10 minutes", "order")._2
    val joined = orders.join(paid, expr("id = order AND paid >= at AND paid <= at + INTERVAL 15 MINUTES"), "left_outer")
    assert(codes(joined) === Nil)
    assert(codes(joined, Update) === Seq("SPARK_REFUSES"))
    assert(codes(joined.orderBy("id")) === Seq("SPARK_REFUSES"))
    assert(codes(windows(orders.dropDuplicates("id", "at")).orderBy("count"), Update) === Seq("SPARK_REFUSES"))
    assert(codes(windows(orders.dropDuplicates("id", "at")), Update) === Nil)
  }

  test("state that stays forever is found without a watermark below it too") {
    assert(codes(windows(raw.dropDuplicates("id").withWatermark("at", "1 minute"))) === Seq("DEDUP_FOREVER"))
    assert(codes(raw.dropDuplicates("id")) === Seq("DEDUP_FOREVER"))
    assert(codes(raw.join(MemoryStream[Int].toDF().toDF("order"), expr("id = order"))) === Seq.fill(2)("NEVER_EVICTS"))
  }

  test("what stands in a common table expression, or in DISTINCT, is seen") {
    orders.createOrReplaceTempView("orders_seen")
    def sql(text: String) = spark.sql(text)
    val days = "WITH d AS (SELECT CAST(at AS DATE) AS day FROM orders_seen) SELECT day, count(*) FROM d GROUP BY day"
    assert(codes(sql(days)) === Seq("MARK_LOST"))
    assert(codes(sql("SELECT DISTINCT id FROM orders_seen"), Update) === Seq("DEDUP_FOREVER"))
    assert(
      codes(sql("WITH o AS (SELECT * FROM orders_seen) SELECT window(at, '1 hour'), count(*) FROM o GROUP BY 1")) ===
        Nil)
  }

  test("a watermark that a map has lost is found at the map") {
    val plain = orders.select($"id", $"at").as[(Int, Timestamp)].map(identity).toDF("id", "at")
    val lost = explained(windows(plain)).findings.head
    assert(lost.code === "MARK_LOST" && lost.sentence.contains("a typed map"))
    val mapped = orders.mapPartitions((rows: Iterator[Row]) => rows)(ExpressionEncoder(orders.schema))
    assert(!explained(windows(mapped)).findings.exists(_.sentence.contains("groups by no event time")))
  }

  test("an aggregation below another one needs event time as well") {
    val below = orders.groupBy("id").agg(max("at").as("t")).withWatermark("t", "1 minute")
    assert(codes(below.groupBy(window($"t", "1 hour")).count()).contains("GROUPS_BY_NO_EVENT_TIME"))
  }

  test("a query that needs more than Spark has an error where it is left to Spark") {
    withSQLConf(SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max") {
      val keyed = withWatermark(raw, "at", "1 minute", WatermarkOptions(key = Some("orders")))
      assert(explained(windows(keyed)).findings.map(f => f.code -> f.severity.name) === Seq("LEFT_TO_SPARK" -> "error"))
    }
  }

  test("a row of an outer join that waits for an input that may be idle says nothing more") {
    val options = WatermarkOptions(idle = Idle(after = Some("1 minute"), atJoin = Some("follow")))
    val paid =
      withWatermark(MemoryStream[(Int, Timestamp)].toDF().toDF("order", "paid"), "paid", "10 minutes", options)
    val joined = orders.join(paid, expr("id = order AND paid >= at AND paid <= at + INTERVAL 15 MINUTES"), "left_outer")
    assert(!explained(joined).findings.exists(_.code == "OUTER_ROWS_WAIT"))
  }

  test("a row of an outer join that waits for an input with idle_after is not told to set it") {
    val options = WatermarkOptions(idle = Idle(after = Some("1 minute")))
    val paid =
      withWatermark(MemoryStream[(Int, Timestamp)].toDF().toDF("order", "paid"), "paid", "10 minutes", options)
    val joined = orders.join(paid, expr("id = order AND paid >= at AND paid <= at + INTERVAL 15 MINUTES"), "left_outer")
    val fixes = explained(joined).findings.filter(_.code == "OUTER_ROWS_WAIT").map(_.fix)
    assert(fixes === Seq("setting at_join=\"follow\" on \"paid\", if such rows must not wait for a silent input"))
  }
}
