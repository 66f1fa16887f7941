package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp

import io.tidemark.{Idle, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.SilenceTest

/** Inputs of a union that advance with the clock: a no-data batch runs where a window ends, wherever the plan computes it. */
class UnionClockStepsSuite extends SilenceTest {
  import testImplicits._

  private val advancing = WatermarkOptions(idle = Idle("10 seconds").copy(whenAll = Some("advance")))

  private var batches = 0L
  private def last(query: StreamExecution): Long = watermarksOf(query).view.get.snapshot.entry.batch
  private val remember = Execute(query => batches = last(query))
  private def since(expected: Long) = Execute(query => assert(last(query) - batches === expected))

  // Event times near the clock, which begins at 0.
  private def early(seconds: Long) = new Timestamp(seconds * 1000)
  private def quarterMinutes(count: Int) = Seq.fill(count)(AdvanceManualClock(15000))

  private def start = date_format($"w.start", "HH:mm")

  /** Both inputs with a column `w` of that window. */
  private def windows(left: Column, right: Column)(a: DataFrame, b: DataFrame): DataFrame = {
    def of(df: DataFrame, by: Column) = withWatermark(df, "time", "0 seconds", advancing).select(by.as("w"), $"device")
    of(a, left).union(of(b, right))
  }

  private val tenMinutes = window($"time", "10 minutes")

  test("one no-data batch runs when a window after a union ends") {
    val ((left, a), (right, b)) = (readings, readings)
    val both = withWatermark(a, "time", "0 seconds", advancing).union(withWatermark(b, "time", "0 seconds", advancing))
    run(counted(both))(
      Seq(AddData(left, "a" -> early(5)), AddData(right, "b" -> early(5)), second, second, remember) ++
        quarterMinutes(38) ++ Seq(since(0), CheckNewAnswer()) ++ quarterMinutes(3) ++
        Seq(since(1), CheckNewAnswer(("00:00", 2L))) ++ quarterMinutes(40) ++ Seq(since(1)): _*)
  }

  test("one no-data batch runs at the end of a window that each input of a union computes") {
    val ((left, a), (right, b)) = (readings, readings)
    run(windows(tenMinutes, tenMinutes)(a, b).groupBy("w").count().select(start, $"count"))(
      Seq(AddData(left, "a" -> early(5)), AddData(right, "b" -> early(5)), second, second, remember) ++
        quarterMinutes(38) ++ Seq(since(0), CheckNewAnswer()) ++ quarterMinutes(3) ++
        Seq(since(1), CheckNewAnswer(("00:00", 2L))) ++ quarterMinutes(40) ++ Seq(since(1)): _*)
  }

  test("one no-data batch runs at the end of each window when a union has windows of two lengths") {
    val ((left, a), (right, b)) = (readings, readings)
    val both = windows(tenMinutes, window($"time", "4 minutes"))(a, b)
    run(both.groupBy("w").count().select(start, $"count"))(
      Seq(AddData(left, "a" -> early(5)), AddData(right, "b" -> early(241)), second, second, remember) ++
        quarterMinutes(31) ++ Seq(CheckNewAnswer()) ++ quarterMinutes(3) ++ Seq(CheckNewAnswer(("00:04", 1L))) ++
        quarterMinutes(4) ++ Seq(CheckNewAnswer()) ++ quarterMinutes(3) ++
        Seq(CheckNewAnswer(("00:00", 1L)), remember) ++
        quarterMinutes(40) ++ Seq(since(0)): _*)
  }
}
