package org.apache.spark.sql.tidemark.support

import java.sql.Timestamp

import io.tidemark.core.{Input, OperatorId, Side}
import io.tidemark.core.splits.HeavyHitters

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.exec.LateRows

/** A stream of readings of devices, and how many of them are late. */
trait LateRowsTest extends WatermarkTest {
  import testImplicits._

  protected val minute = 60000L

  protected def readings: (MemoryStream[(String, Timestamp)], DataFrame) = {
    val stream = MemoryStream[(String, Timestamp)]
    stream -> stream.toDF().toDF("device", "time").withWatermark("time", "0 seconds")
  }

  protected def lateAre(side: Side, rows: Long, mostMinutes: Long, lastRows: Long, lastMinutes: Long): StreamAction =
    Execute { query =>
      val total = watermarksOf(query).view.get.lateRows(Input(OperatorId(0), side))
      assert(total.all.copy(splits = HeavyHitters.none) === LateRows(rows, mostMinutes * minute))
      assert(total.last.copy(splits = HeavyHitters.none) === LateRows(lastRows, lastMinutes * minute))
    }

  protected def noneAreLate: StreamAction =
    Execute(query => assert(watermarksOf(query).view.get.lateRows.values.forall(_.all.rows == 0)))

  protected def sparkSays(rows: Long): StreamAction = Execute { query =>
    val dropped = query.recentProgress.flatMap(_.stateOperators.map(_.numRowsDroppedByWatermark)).sum
    assert(dropped === rows)
  }

  /** Two equal rows are late by 30 minutes, and one by 90. All others are on time. */
  protected def history(df: DataFrame, stream: MemoryStream[(String, Timestamp)], mode: OutputMode = OutputMode.Append)(
      checks: StreamAction*): Unit =
    testStream(df, mode)(
      Seq(
        AddData(stream, "a" -> at("12:00")),
        ProcessAllAvailable(),
        AddData(stream, "b" -> at("11:30"), "b" -> at("11:30"), "c" -> at("10:30"), "d" -> at("12:30")),
        ProcessAllAvailable()) ++ checks: _*)

  protected def threeAreLate = Seq(
    lateAre(Side.Left, rows = 3, mostMinutes = 90, lastRows = 3, lastMinutes = 90),
    sparkSays(3))
}
