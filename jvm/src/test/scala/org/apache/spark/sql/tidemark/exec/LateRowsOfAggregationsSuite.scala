package org.apache.spark.sql.tidemark.exec

import io.tidemark.core.Side

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  SessionWindowStateStoreRestoreExec,
  SessionWindowStateStoreSaveExec,
  StateStoreSaveExec,
  StateStoreWriter
}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.planning.ChooseLateRowRule
import org.apache.spark.sql.tidemark.support.LateRowsTest
import org.apache.spark.sql.types.TimestampType

/** An aggregation counts late rows one by one, before it aggregates them. */
class LateRowsOfAggregationsSuite extends LateRowsTest {
  import testImplicits._

  private def windows(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  for (mode <- generated)
    test(s"a window aggregation counts late rows one by one, before it aggregates them ($mode)") {
      withCode(mode) {
        val (stream, df) = readings
        testStream(windows(df))(
          AddData(stream, "a" -> at("12:00")),
          ProcessAllAvailable(),
          noneAreLate,
          // Three rows are in a window that ended 110 minutes before the watermark, and one is in another window.
          AddData(
            stream,
            "a" -> at("10:01"),
            "b" -> at("10:02"),
            "a" -> at("10:01"),
            "a" -> at("10:35"),
            "a" -> at("12:05")),
          ProcessAllAvailable(),
          lateAre(Side.Left, rows = 4, mostMinutes = 110, lastRows = 4, lastMinutes = 110),
          // Spark counts the late windows of each partition, not the rows.
          sparkSays(2),
          // The window ended at 12:00, and so far the watermark is 12:00: nothing was due, so no no-data batch ran.
          AddData(stream, "a" -> at("11:58")),
          ProcessAllAvailable(),
          lateAre(Side.Left, rows = 5, mostMinutes = 110, lastRows = 1, lastMinutes = 0),
          AddData(stream, "a" -> at("12:06"), "a" -> null),
          ProcessAllAvailable(),
          lateAre(Side.Left, rows = 5, mostMinutes = 110, lastRows = 1, lastMinutes = 0))
      }
    }

  moreTests {
    test("an aggregation by sliding windows counts a late row once for each closed window") {
      val (stream, df) = readings
      val counts = df.groupBy(window($"time", "10 minutes", "5 minutes").as("w")).count()
      testStream(counts.select(date_format($"w.start", "HH:mm"), $"count"))(
        AddData(stream, "a" -> at("12:00")),
        ProcessAllAvailable(),
        // The rows are late for both of their windows, for one of two, and for none.
        AddData(stream, "a" -> at("11:00"), "b" -> at("11:58"), "c" -> at("12:01")),
        ProcessAllAvailable(),
        lateAre(Side.Left, rows = 3, mostMinutes = 55, lastRows = 3, lastMinutes = 55),
        AddData(stream, "a" -> at("13:00")),
        ProcessAllAvailable(),
        CheckNewAnswer(("11:55", 3L), ("12:00", 2L)))
    }

    test("an aggregation by a renamed event-time column counts its late rows") {
      val (stream, df) = readings
      history(df.groupBy($"time".as("t"), $"device").count(), stream)(
        lateAre(Side.Left, rows = 3, mostMinutes = 90, lastRows = 3, lastMinutes = 90))
    }

    test("a session-window aggregation counts late rows by the end of their sessions") {
      val (stream, df) = readings
      history(df.groupBy(session_window($"time", "10 minutes"), $"device").count(), stream)(
        lateAre(Side.Left, rows = 3, mostMinutes = 80, lastRows = 3, lastMinutes = 80))
    }

    test("a session-window aggregation has no late rows in complete mode") {
      val (stream, df) = readings
      val sessions = df.groupBy(session_window($"time", "10 minutes"), $"device").count()
      history(sessions.select("device", "count"), stream, OutputMode.Complete)(
        CheckLastBatch(("a", 1L), ("b", 2L), ("c", 1L), ("d", 1L)),
        sparkSays(0),
        noneAreLate)
    }

    test("a window aggregation has no late rows in complete mode, and counts them in update mode as in append mode") {
      val (stream, df) = readings
      history(windows(df), stream, OutputMode.Complete)(noneAreLate)
      val (other, more) = readings
      history(windows(more), other, OutputMode.Update)(
        lateAre(Side.Left, rows = 3, mostMinutes = 80, lastRows = 3, lastMinutes = 80))
    }

    for ((what, between, each) <- Seq[(String, DataFrame => DataFrame, Int)](
        ("above another aggregation", identity, 1),
        ("above another aggregation and a generator", _.withColumn("copy", explode(array(lit("x"), lit("y")))), 2)))
      test(s"an aggregation $what counts late rows before its own partial aggregation") {
        withSQLConf(SQLConf.SHUFFLE_PARTITIONS.key -> "1") {
          val (stream, df) = readings
          val counts = df.groupBy(window($"time", "10 minutes").as("w"), $"device").count()
          val moved = when($"device".startsWith("late"), expr("w.start - INTERVAL 4 HOURS")).otherwise($"w.start")
          val shifted = between(counts.select(moved.as("t"))).withWatermark("t", "0 seconds")
          testStream(shifted.groupBy(window($"t", "1 hour").as("w")).count().select(date_format($"w.start", "HH:mm")))(
            AddData(stream, "a" -> at("10:00")),
            ProcessAllAvailable(),
            // This closes the window from 10:00, and the second watermark advances to 10:00 only.
            AddData(stream, "a" -> at("12:00")),
            ProcessAllAvailable(),
            noneAreLate,
            // This closes two windows that are moved to 08:00, whose hour ended at 09:00.
            AddData(stream, "late 1" -> at("12:01"), "late 2" -> at("12:02"), "a" -> at("13:00")),
            ProcessAllAvailable(),
            Execute { query =>
              val totals = watermarksOf(query).view.get.lateRows.values.map(_.all)
              assert(totals.toSet === Set(LateRows.none, LateRows(2L * each, 60 * minute)))
            },
            // The partial aggregation merges them into one hour.
            sparkSays(1),
            CheckNewAnswer("10:00"))
        }
      }

    test("late rows are reported for two stacked aggregations, even if one of them has none") {
      val (stream, df) = readings
      val counts = df.groupBy(window($"time", "10 minutes").as("w")).count()
      testStream(counts.groupBy(window(window_time($"w"), "1 hour")).count().select("count"))(
        AddData(stream, "a" -> at("12:00")),
        ProcessAllAvailable(),
        AddData(stream, "a" -> at("10:00"), "a" -> at("10:30")),
        ProcessAllAvailable(),
        Execute { query =>
          assert(watermarksOf(query).view.get.lateRows.values.map(_.all.rows).toSeq.sorted === Seq(0, 2))
          val reported = observed(query, "tidemark").schema.fieldNames.filter(_.startsWith("late_rows"))
          assert(reported.toSet === Set("late_rows", "late_rows_0", "late_rows_1"))
        })
    }

    test("late rows are counted where Spark drops them if the partial aggregation lacks the event-time column") {
      for (by <- Seq(window($"time", "10 minutes"), session_window($"time", "10 minutes"))) {
        val (stream, df) = readings
        testStream(df.groupBy(by.as("w"), $"device").count())(
          AddData(stream, "a" -> at("12:00")),
          ProcessAllAvailable(),
          Execute { query =>
            val save = query.lastExecution.executedPlan.collectFirst {
              case save: StateStoreSaveExec => save: StateStoreWriter
              case save: SessionWindowStateStoreSaveExec => save
            }.get
            val unknown = AttributeReference("unknown", TimestampType)()
            val filtered =
              save.collectFirst { case restore: SessionWindowStateStoreRestoreExec => restore }.getOrElse(
                save).children.head
            var asked = Seq.empty[(SparkPlan, Attribute)]
            ChooseLateRowRule.insert(save.children.head, save, unknown) { (plan, at) =>
              asked :+= plan -> at
              plan
            }
            assert(asked === Seq(filtered -> unknown))
          })
      }
    }
  }
}
