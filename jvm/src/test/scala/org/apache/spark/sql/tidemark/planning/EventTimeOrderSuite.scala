package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import scala.util.Random

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.exec.order.HoldExec
import org.apache.spark.sql.tidemark.support.{OrderSettings, SeenRows}

/** `spark.tidemark.order=event_time`. */
class EventTimeOrderSuite extends OrderSettings {
  import testImplicits._

  test("with event_time, a query is refused if Spark makes two of an operator that needs an order") {
    def times(name: String) = {
      val (stream, df) = timed(s"t_$name", "1 hour")
      stream -> df.withColumnRenamed("id", s"id_$name")
    }
    val ((first, a), (_, b), (_, c)) = (times("a"), times("b"), times("c"))
    val near = expr("id_a = id_c AND t_c BETWEEN t_a - INTERVAL 1 MINUTE AND t_a + INTERVAL 1 MINUTE")
    val joined = a.union(b).join(c.dropDuplicates("id_c"), near, "left_semi")
    withOrder("event_time") {
      testStream(joined)(
        AddData(first, 1 -> at("10:00")),
        expectRefusal(
          "ORDER_NOT_ADDED",
          "setting" -> "event_time",
          "reason" ->
            ("of 1 functions of groups and deduplications Spark has made 2, as where it moves a semi join below a " +
              "union")))
    }
  }

  test("with event_time, an input with two columns of one name is refused") {
    val (stream, df) = timed("t", "10 minutes")
    val static = Seq(1 -> "a").toDF("id", "name")
    val joined = df.join(broadcast(static), df("id") === static("id")).dropDuplicates("name").select("name")
    withOrder("event_time") {
      testStream(joined)(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal(
          "ORDER_NOT_ADDED",
          "reason" -> "the input of an operator has several columns named 'id', which a restart could not tell apart"))
    }
  }

  test("with event_time, operators in common table expressions get an order, once for each place that names one") {
    withOrder("event_time") {
      for ((query, orders) <- Seq(
          "WITH f AS (SELECT * FROM firsts) SELECT * FROM f" -> 1,
          "WITH f AS (SELECT * FROM firsts) SELECT * FROM f UNION ALL SELECT * FROM f" -> 2)) {
        val (stream, df) = timed("t", "1 minute")
        df.dropDuplicates("id").createOrReplaceTempView("firsts")
        testStream(sql(query))(
          AddData(stream, 1 -> at("10:05"), 1 -> at("10:03"), 2 -> at("10:10")),
          ProcessAllAvailable(),
          Execute { query =>
            assert(query.lastExecution.executedPlan.collect { case hold: HoldExec => hold }.size === orders, query)
          },
          CheckAnswer(Seq.fill(orders)(1 -> at("10:03")): _*))
      }
    }
  }

  private def shuffledRows: Seq[(Int, Timestamp)] = new Random(5).shuffle(inTurn)

  test("with event_time, a function reads each group by time over batches, and a user's own order is left alone") {
    def seenIn(query: DataFrame => DataFrame): Int = {
      val stream = MemoryStream[(Int, Timestamp)](Lanes)
      var held = 0
      testStream(query(stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes")))(
        (shuffledRows.grouped(200).flatMap(rows => Seq(AddData(stream, rows: _*), ProcessAllAvailable())) ++ Seq(
          AddData(stream, 9 -> at("23:00")),
          ProcessAllAvailable(),
          Execute(query => held = query.lastExecution.executedPlan.collect { case hold: HoldExec => hold }.size),
          StopStream)).toSeq: _*)
      assert(SeenRows.all.size === inTurn.size)
      held
    }
    withOrder("event_time") {
      assert(seenIn(counted) === 1)
      assert(SeenRows.byId.values.forall(isSorted))
      assert(seenIn(df => counted(inOrder(df, "t", OrderOptions(by = Seq(minute($"t")))))) === 1)
      assert(SeenRows.byId.values.forall(isSorted))
    }
    assert(seenIn(df => counted(df.where("t < '2024-03-01 22:00:00'"))) === 0)
    assert(!SeenRows.byId.values.forall(isSorted))
  }

  test("with event_time, deduplications keep the first row by time") {
    withOrder("event_time") {
      val rows = Seq(1 -> at("10:05"), 2 -> at("10:03"), 1 -> at("10:01"), 2 -> at("10:02"))
      def emitted(query: DataFrame => DataFrame)(expected: (Int, Timestamp)*) = {
        val (stream, df) = timed("t", "10 minutes")
        testStream(query(df))(
          AddData(stream, rows: _*),
          ProcessAllAvailable(),
          AddData(stream, 9 -> at("11:00")),
          ProcessAllAvailable(),
          CheckNewAnswer(expected.head, expected.tail: _*),
          StopStream)
      }
      emitted(_.dropDuplicates("id"))(1 -> at("10:01"), 2 -> at("10:02"))
      emitted(_.dropDuplicatesWithinWatermark("id"))(1 -> at("10:01"), 2 -> at("10:02"))
      // Of rows with the same time, none is the first, so they need not wait.
      val (stream, df) = timed("t", "10 minutes")
      testStream(df.dropDuplicates("id", "t"))(
        AddData(stream, rows: _*),
        ProcessAllAvailable(),
        CheckNewAnswer(rows.head, rows.tail: _*),
        StopStream)
    }
  }

  test("with event_time, an order is in the plan of every batch, also if an input of a union has no rows") {
    withOrder("event_time") {
      val (first, a) = timed("t", "10 minutes")
      val second = MemoryStream[(Int, Timestamp)]
      val unordered = second.toDF().toDF("id", "t")
      val rows = inOrder(a, "t", byId).union(unordered).dropDuplicates("id").dropDuplicates("id")
      def holds(count: Int) = Execute(query =>
        assert(query.lastExecution.executedPlan.collect { case hold: HoldExec => hold }.size === count))
      testStream(rows)(
        AddData(first, 1 -> at("10:05"), 1 -> at("10:01")),
        ProcessAllAvailable(),
        holds(2),
        MultiAddData(first, 2 -> at("10:30"))(second, 3 -> at("10:02")),
        ProcessAllAvailable(),
        holds(2),
        AddData(first, 9 -> at("11:00")),
        ProcessAllAvailable(),
        CheckNewAnswer(1 -> at("10:01"), 2 -> at("10:30"), 3 -> at("10:02")))
    }
  }
}
