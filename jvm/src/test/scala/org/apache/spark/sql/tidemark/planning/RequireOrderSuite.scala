package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import io.tidemark.functions.inOrder

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.OrderSettings

/** `spark.tidemark.requireOrder`. */
class RequireOrderSuite extends OrderSettings {
  import testImplicits._

  private def assertLost(query: DataFrame => DataFrame, tasks: Int = 1)(parameters: (String, String)*): Unit = {
    val stream = MemoryStream[(Int, Timestamp)](tasks)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
    testStream(query(df))(
      AddData(stream, Seq.fill(tasks)(1 -> at("10:00")): _*),
      expectRefusal("ORDER_LOST", parameters: _*))
  }

  test("with requireOrder, a query that has lost its order is refused by the names of operator and loss") {
    withSQLConf("spark.tidemark.requireOrder" -> "true") {
      assertLost(counted)(
        "operator" -> "flatMapGroupsWithState",
        "at" -> "sort by value",
        "why" -> "Spark's sort may exchange rows of a group")
      assertLost(df => inOrder(df, "t", byId).union(df).dropDuplicates("id"))(
        "operator" -> "dropDuplicates",
        "at" -> "union")
      assertLost(df => counted(inOrder(df, "t", byId.copy(dropsLate = false))))("why" -> "late rows are passed on")
    }
  }

  test("with requireOrder, rows that several tasks have read are in no known order, kept or not") {
    withSQLConf("spark.tidemark.requireOrder" -> "true", "spark.tidemark.order" -> "keep") {
      for (query <- Seq[DataFrame => DataFrame](counted, _.dropDuplicates("id"), _.limit(5)))
        assertLost(query, tasks = 3)("at" -> "source", "why" -> "3 tasks read it side by side")
    }
  }

  test("with requireOrder, an order within each batch is refused") {
    withSQLConf("spark.tidemark.requireOrder" -> "true") {
      for (query <- Seq[DataFrame => DataFrame](counted, _.dropDuplicates("id")))
        assertLost(df => query(inOrder(df, "t", byId.copy(waits = false))))(
          "at" -> "in order",
          "why" -> "it sorts each batch by itself, so a later batch may have earlier rows")
    }
  }

  test("with requireOrder, a query runs if its order is known, and also if it needs none") {
    withSQLConf("spark.tidemark.requireOrder" -> "true") {
      def runs(query: DataFrame => DataFrame, tasks: Int = 1) = {
        val stream = MemoryStream[(Int, Timestamp)](tasks)
        val df = stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
        testStream(query(df))(
          AddData(stream, Seq.fill(tasks)(1 -> at("10:00")): _*),
          ProcessAllAvailable(),
          StopStream)
      }
      runs(df => counted(inOrder(df, "t", byId)), tasks = 3)
      runs(_.groupBy(window($"t", "10 minutes")).count(), tasks = 3)
      // Functions of partitions and sinks see what their task sees.
      runs(seen, tasks = 3)
      runs(df => seen(inOrder(df, "t", byId.copy(waits = false))), tasks = 3)
      // One task has read all rows.
      runs(_.dropDuplicates("id"))
      withOrder("keep")(runs(counted))
      withOrder("event_time")(runs(counted))
    }
  }
}
