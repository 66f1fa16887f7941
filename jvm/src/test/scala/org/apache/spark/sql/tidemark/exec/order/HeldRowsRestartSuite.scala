package org.apache.spark.sql.tidemark.exec.order

import java.sql.Timestamp

import io.tidemark.{OrderOptions, TidemarkException}
import io.tidemark.functions.inOrder

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.OrderTest

/** Rows wait in the checkpoint, and the query continues with other columns or another order. */
class HeldRowsRestartSuite extends OrderTest {
  import testImplicits._

  private val inZone = Seq(
    "date_format" -> date_format($"t", "yyyy-MM-dd"),
    "a cast to text" -> concat(lit("at "), $"t".cast("string")),
    "to_date" -> to_date($"t"),
    "hour" -> (hour($"t") + 1))

  for ((name, by) <- inZone)
    test(s"while rows are held, a by with $name is another one in another time zone") {
      val stream = MemoryStream[(Int, Timestamp)]
      withTempDir { checkpoint =>
        def run(zone: String)(steps: StreamAction*): Unit =
          withSQLConf(SQLConf.SESSION_LOCAL_TIMEZONE.key -> zone) {
            val df = stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes")
            testStream(inOrder(df, "t", OrderOptions(by = Seq(by))).select("id"))(
              StartStream(checkpointLocation = checkpoint.getCanonicalPath) +: steps: _*)
          }
        run("UTC")(AddData(stream, 1 -> at("10:00"), 2 -> at("10:05")), ProcessAllAvailable(), StopStream)
        run("Asia/Tokyo")(
          AddData(stream, 3 -> at("11:00")),
          ExpectFailure[TidemarkException] { error =>
            assertRefusal(error, "ORDER_STATE_CHANGED")
            val reason = refusalIn(error).error.parameters("reason")
            assert(reason.endsWith("in the time zone UTC, not in Asia/Tokyo"))
          })
        // The same zone by another name.
        run("Etc/UTC")(ProcessAllAvailable(), CheckNewAnswer(1, 2), StopStream)
      }
    }

  test("a by that depends on no time zone is the same in all of them") {
    val stream = MemoryStream[(Int, Timestamp)]
    withTempDir { checkpoint =>
      val batches = Seq(
        ("UTC", Seq(1 -> at("10:00"), 2 -> at("10:05")), Nil),
        ("Asia/Tokyo", Seq(3 -> at("11:00")), Seq(1, 2)))
      for ((zone, rows, answer) <- batches)
        withSQLConf(SQLConf.SESSION_LOCAL_TIMEZONE.key -> zone) {
          val df = stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes").withColumn("day", to_date($"t"))
          val by = Seq($"id".cast("string"), unix_seconds($"t") % 7, $"day")
          testStream(inOrder(df, "t", OrderOptions(by = by)).select("id"))(
            StartStream(checkpointLocation = checkpoint.getCanonicalPath),
            AddData(stream, rows: _*),
            ProcessAllAvailable(),
            CheckNewAnswerRows(answer.map(Row(_))),
            StopStream)
        }
    }
  }

  test("a column that was null when rows came is null in them, though its expression can no longer be null") {
    val stream = MemoryStream[(Int, Timestamp)]
    def ordered(made: Column) = {
      val df = stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes").withColumn("made", made)
      inOrder(df, "t", byId).select($"id", $"made", $"made".isNull, coalesce($"made", lit(-1)))
    }
    withTempDir { checkpoint =>
      def run(made: Column)(steps: StreamAction*): Unit =
        testStream(ordered(made))(StartStream(checkpointLocation = checkpoint.getCanonicalPath) +: steps: _*)
      run(nullif($"id", $"id"))(AddData(stream, 1 -> at("10:00")), ProcessAllAvailable(), StopStream)
      run(coalesce(nullif($"id", $"id"), lit(7)))(
        AddData(stream, 2 -> at("10:05"), 3 -> at("11:00")),
        ProcessAllAvailable(),
        CheckNewAnswerRows(Seq(Row(1, null, true, -1), Row(2, 7, false, 7))),
        StopStream)
    }
  }

  test("of two columns with one name each has its own values, whichever is read after a restart") {
    val static = Seq(1 -> "static").toDF("key", "v")
    for ((before, after, expected) <- Seq(
        (Seq("stream"), Seq("static"), Row(null)),
        (Seq("static"), Seq("stream", "static"), Row(null, "static")),
        (Seq("stream", "static"), Seq("static"), Row("static")))) {
      val stream = MemoryStream[(Int, Timestamp)]
      withTempDir { checkpoint =>
        def run(read: Seq[String])(steps: StreamAction*): Unit = {
          val df =
            stream.toDF().toDF(
              "id",
              "t").withWatermark("t", "10 minutes").withColumn("v", concat(lit("stream-"), $"id"))
          val joined = inOrder(df.join(broadcast(static), $"id" === $"key"), "t", byId)
          val columns = Map("stream" -> df("v").as("of_stream"), "static" -> static("v").as("of_static"))
          testStream(joined.select(read.map(columns): _*))(
            StartStream(checkpointLocation = checkpoint.getCanonicalPath) +: steps: _*)
        }
        run(before)(AddData(stream, 1 -> at("10:00")), ProcessAllAvailable(), StopStream)
        run(after)(
          AddData(stream, 1 -> at("11:00")),
          ProcessAllAvailable(),
          CheckNewAnswerRows(Seq(expected)),
          StopStream)
      }
    }
  }

  test("while rows are held, a by with another column of the same name is another one") {
    val static = Seq(1 -> "static").toDF("key", "v")
    val stream = MemoryStream[(Int, Timestamp)]
    withTempDir { checkpoint =>
      def run(by: DataFrame => Column)(steps: StreamAction*): Unit = {
        val df = stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes").withColumn("v", $"id".cast("string"))
        val ordered = inOrder(df.join(broadcast(static), $"id" === $"key"), "t", OrderOptions(by = Seq(by(df))))
        testStream(ordered.select("id"))(StartStream(checkpointLocation = checkpoint.getCanonicalPath) +: steps: _*)
      }
      run(_("v"))(AddData(stream, 1 -> at("10:00")), ProcessAllAvailable(), StopStream)
      run(_ => static("v"))(
        AddData(stream, 1 -> at("11:00")),
        expectRefusal("ORDER_STATE_CHANGED", "reason" -> "they were grouped by 'v', not by '`v 2`'"))
      run(_("v"))(ProcessAllAvailable(), CheckNewAnswer(1), StopStream)
    }
  }
}
