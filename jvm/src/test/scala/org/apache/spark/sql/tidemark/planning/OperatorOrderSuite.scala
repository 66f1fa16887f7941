package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import scala.concurrent.Future

import io.tidemark.{AsyncOptions, OrderOptions, SplitBy, WatermarkOptions}
import io.tidemark.functions.{inOrder, mapAsync, withWatermark}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.OrderTest
import org.apache.spark.sql.types.IntegerType

/** What the report and the plan say of the order in which operators read their rows, and of the rows that wait. */
class OperatorOrderSuite extends OrderTest {
  import testImplicits._

  private case class ShownOrder(order: JsonNode, plan: Seq[String]) {
    def kind: String = order.get("kind").asText
    def lostAt: String = order.get("lost_at").asText
    def columns: String = order.get("columns").toString
  }

  private def orderOf(query: DataFrame => DataFrame): ShownOrder = {
    val (stream, df) = timed("t", "10 minutes")
    var found: Option[ShownOrder] = None
    testStream(query(df))(
      AddData(stream, 1 -> at("10:05"), 2 -> at("10:01")),
      ProcessAllAvailable(),
      Execute(query => found = Some(ShownOrder(reported(query, "order"), explained(query)))),
      StopStream)
    found.get
  }

  test("the report and the plan say by what an operator's rows are in order, also behind a shuffle") {
    for (by <- Seq($"id", minute($"t"))) {
      val found = orderOf(df => counted(inOrder(df, "t", OrderOptions(by = Seq(by), thenBy = Seq($"id" % 7)))))
      assert(found.order.toString ===
        """{"kind":"time","columns":["t","(id % 7)"],"over_batches":true,"of_groups":true,"lost_at":null,"why":null}""")
      assert(found.plan === Seq("each group by t, then (id % 7)"))
    }
  }

  test("they say it of deduplication and of limits, and if each batch is in order by itself") {
    assert(orderOf(df => inOrder(df, "t", byId).dropDuplicates("id")).plan === Seq("each group by t"))
    val limited = orderOf(df => inOrder(df, "t", byId.copy(waits = false)).limit(5))
    assert(limited.plan.head === "all rows by t, within each batch")
    val computed = orderOf { df =>
      df.createOrReplaceTempView("computed")
      sql("""SELECT * FROM computed WHERE tidemark_in_order(unix_seconds(t), '{"wait": false}', id) LIMIT 5""")
    }
    assert(computed.plan.head === "all rows by unix_seconds(t), within each batch")
    assert(!limited.order.get("over_batches").asBoolean && !limited.order.get("of_groups").asBoolean)
  }

  test("they say where an order is lost") {
    val stock = orderOf(df => counted(df))
    assert((stock.kind, stock.lostAt, stock.plan) === (("none", "sort by value", Nil)))
    val unioned = orderOf(df => counted(inOrder(df, "t", byId).union(inOrder(df, "t", byId))))
    assert((unioned.kind, unioned.columns, unioned.lostAt) === (("time", "[\"t\"]", "union")))
    assert(unioned.plan === Seq("each group by t, lost in part at union: its inputs have watermarks of their own"))
    // A batch without data leaves out the input that has no order, and with it the union.
    val mixed = orderOf(df => inOrder(df, "t", byId).union(df).dropDuplicates("id"))
    assert((mixed.kind, mixed.lostAt) === (("none", "union")))
    val passed = orderOf(df => counted(inOrder(df, "t", byId.copy(dropsLate = false))))
    assert(passed.plan === Seq("each group by t, lost in part at in order: late rows are passed on"))
  }

  test("rows that a deduplication reads arrive as each task has read them") {
    assert(orderOf(df => df.dropDuplicates("id")).kind === "arrival")
    val spread = orderOf(df => df.repartition(3).dropDuplicates("id"))
    assert((spread.kind, spread.lostAt) === (("none", "repartition")))
  }

  test("calls that are made asynchronously keep an order unless their results come as they finish") {
    def called(ordered: Boolean)(df: DataFrame): DataFrame =
      mapAsync(df, "twice", Seq($"id"), IntegerType, AsyncOptions(ordered = ordered)) { row =>
        Future.successful(row.getInt(0) * 2)
      }
    assert(orderOf(df => called(ordered = true)(df).dropDuplicates("id")).kind === "arrival")
    val lost = orderOf(df => called(ordered = false)(df).dropDuplicates("id"))
    assert((lost.kind, lost.lostAt) === (("none", "asynchronous calls")))
    // Rows with a time are sorted again.
    assert(orderOf(df => called(ordered = false)(inOrder(df, "t", byId)).dropDuplicates("id")).kind === "time")
  }

  test("the report has the rows that wait, and the split that they wait for") {
    val stream = MemoryStream[(Int, Timestamp)]
    val df = withWatermark(stream.toDF().toDF("id", "t"), "t", "10 minutes", WatermarkOptions(splitBy = SplitBy($"id")))
    testStream(counted(inOrder(df, "t", byId)))(
      AddData(stream, 1 -> at("10:05"), 1 -> at("10:40"), 2 -> at("10:20"), 2 -> at("10:00")),
      ProcessAllAvailable(),
      Execute { query =>
        val held = reported(query, "held")
        assert(held.get("rows").asLong === 2)
        assert(held.get("bytes").asLong > 2 * 24)
        assert(held.get("oldest_ms").asLong === millis("10:20"))
        assert((held.get("waits_for").asText, held.get("split").asText) === (("t", "2")))
        assert((held.get("next_due_ms").asLong, held.get("last_due_ms").asLong) ===
          ((millis("10:20"), millis("10:40"))))
      },
      AddData(stream, 1 -> at("13:00"), 2 -> at("12:00")),
      ProcessAllAvailable(),
      Execute { query =>
        val held = reported(query, "held")
        assert((held.get("rows").asLong, held.get("oldest_ms").asLong) === ((2, millis("12:00"))))
        assert((held.get("next_due_ms").asLong, held.get("last_due_ms").asLong) ===
          ((millis("12:00"), millis("13:00"))))
      })
  }

  test("a held row is due when the watermark, in whole ms, is at its time or after it") {
    val (stream, df) = timed("t", "0 seconds")
    val between = Timestamp.from(at("10:00").toInstant.plusNanos(500000))
    def due(query: StreamExecution) = reported(query, "held").get("next_due_ms").asLong
    testStream(inOrder(df, "t", byId))(
      AddData(stream, 1 -> between),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      Execute(query => assert(due(query) === millis("10:00") + 1)),
      AddData(stream, 2 -> new Timestamp(millis("10:00") + 1)),
      ProcessAllAvailable(),
      CheckNewAnswer(1 -> between, 2 -> new Timestamp(millis("10:00") + 1)))
  }

  test("late rows that are passed on are counted once as passed, and again where an operator above drops them") {
    val (stream, df) = timed("t", "0 seconds")
    val passing = inOrder(df, "t", byId.copy(dropsLate = false))
    testStream(passing.dropDuplicatesWithinWatermark("id"))(
      AddData(stream, 1 -> at("10:30")),
      ProcessAllAvailable(),
      AddData(stream, 2 -> at("10:00"), 3 -> at("10:10"), 4 -> at("10:40")),
      ProcessAllAvailable(),
      CheckAnswer(1 -> at("10:30"), 4 -> at("10:40")),
      Execute { query =>
        val metrics = observed(query, "tidemark")
        def of(name: String) = metrics.getAs[Long](name)
        assert((of("late_rows"), of("late_rows_0"), of("passed_rows_1")) === ((2L, 2L, 2L)))
        val view = watermarksOf(query).view.get
        assert(view.lateRows.values.map(_.all.rows).toSeq === Seq(2L))
        assert(view.passedRows.values.map(_.all.rows).toSeq === Seq(2L))
        val json = new ObjectMapper().readTree(
          spark.sql(s"SELECT tidemark_report('${query.id}')").head().getString(0)).get("plan")
        assert((json.get("late_rows").asLong, json.has("passed_rows")) === ((2L, false)))
        val order = json.get("children").get(0)
        assert((order.get("late_rows").asLong, order.get("passed_rows").asLong) === ((0L, 2L)))
        val late = order.get("late")
        assert(late.get("passed").asBoolean && !json.get("late").has("passed"))
        assert((late.get("rows").asLong, late.get("most_ms").asLong) === ((2L, 30 * 60000L)))
      })
  }

  test("a batch in which all rows are late is not a loss if they are passed on") {
    val (stream, df) = timed("t", "0 seconds")
    testStream(inOrder(df, "t", byId.copy(dropsLate = false)))(
      AddData(stream, 1 -> at("10:30")),
      ProcessAllAvailable(),
      AddData(stream, 2 -> at("10:00")),
      ProcessAllAvailable(),
      CheckAnswer(1 -> at("10:30"), 2 -> at("10:00")),
      Execute { query =>
        val json = spark.sql(s"SELECT tidemark_report('${query.id}')").head().getString(0)
        val why = new ObjectMapper().readTree(json).get("why")
        assert(!why.get("is_trouble").asBoolean, why)
        assert(watermarksOf(query).view.get.history.forall(_.moments.map(_.lateRows).sum == 0))
      })
  }
}
