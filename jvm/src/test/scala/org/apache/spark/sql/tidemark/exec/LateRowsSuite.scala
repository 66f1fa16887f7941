package org.apache.spark.sql.tidemark.exec

import java.sql.Timestamp

import io.tidemark.core.Side

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.tidemark.support.LateRowsTest

/** Operators other than aggregations count late rows at their inputs, with how late they were. */
class LateRowsSuite extends LateRowsTest {
  import testImplicits._

  test("deduplication counts late rows with and without a time key, and within the watermark") {
    for (dedup <- Seq[DataFrame => DataFrame](
        _.dropDuplicates("device", "time"),
        _.dropDuplicates("device"),
        _.dropDuplicatesWithinWatermark("device"))) {
      val (stream, df) = readings
      history(dedup(df), stream)(threeAreLate: _*)
    }
  }

  private def grouped(df: DataFrame, timeout: GroupStateTimeout): DataFrame =
    df.as[(String, Timestamp)]
      .groupByKey(_._1)
      .mapGroupsWithState[Long, (String, Long)](timeout) { (key, rows, state) =>
        state.update(state.getOption.getOrElse(0L) + rows.size)
        key -> state.get
      }
      .toDF()

  testMore("mapGroupsWithState counts late rows with an event-time timeout, and drops none without a timeout") {
    val (stream, df) = readings
    history(grouped(df, GroupStateTimeout.EventTimeTimeout), stream, OutputMode.Update)(threeAreLate: _*)
    val (other, more) = readings
    history(grouped(more, GroupStateTimeout.NoTimeout), other, OutputMode.Update)(noneAreLate, sparkSays(0))
  }

  testMore("transformWithState counts late rows in event-time mode, and drops none in TimeMode.None") {
    withSQLConf(SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName) {
      def transformed(df: DataFrame, mode: TimeMode) = df
        .as[(String, Timestamp)]
        .groupByKey(_._1)
        .transformWithState(new LateRowsSuite.Counter, mode, OutputMode.Update)
        .toDF()
      val (stream, df) = readings
      history(transformed(df, TimeMode.EventTime()), stream, OutputMode.Update)(threeAreLate: _*)
      val (other, more) = readings
      history(transformed(more, TimeMode.None()), other, OutputMode.Update)(noneAreLate, sparkSays(0))
    }
  }

  test("a join counts the late rows of each side by that side's watermark") {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    testStream(a.join(b, expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 15 MINUTES")))(
      MultiAddData(left, 1 -> at("12:00"))(right, 1 -> at("11:00")),
      ProcessAllAvailable(),
      MultiAddData(left, 2 -> at("11:30"), 3 -> at("11:50"))(right, 2 -> at("10:00"), 3 -> at("11:30")),
      ProcessAllAvailable(),
      lateAre(Side.Left, rows = 2, mostMinutes = 30, lastRows = 2, lastMinutes = 30),
      lateAre(Side.Right, rows = 1, mostMinutes = 60, lastRows = 1, lastMinutes = 60),
      sparkSays(3))
  }

  test("late rows of one partition count once, however often its task runs") {
    val driver = new LateRows.Accumulator
    val (first, second) = (driver.copy(), driver.copy())
    Seq(first, second).foreach(_.add(3 -> LateRows(5, 70)))
    val other = driver.copy()
    // One task may read several partitions of the plan below.
    other.add(4 -> LateRows(1, 90))
    other.add(4 -> LateRows(2, 10))
    Seq(first, second, other, other.copy()).foreach(driver.merge)
    assert(driver.value === LateRows(8, 90))
  }

  testMore("the progress of each batch contains its late rows") {
    val (left, a) = timed("a", "0 seconds", "l")
    val (right, b) = timed("b", "0 seconds", "r")
    val joined = a.join(b, expr("l = r AND b BETWEEN a AND a + INTERVAL 5 MINUTES"))
    def lateInLastData(all: Long, left: Long, right: Long): StreamAction = Execute { query =>
      val late = observed(query, "tidemark")
      assert(late.getValuesMap[Long](late.schema.fieldNames.toSeq.filter(_.startsWith("late_rows"))) ===
        Map("late_rows" -> all, "late_rows_0_left" -> left, "late_rows_0_right" -> right))
    }
    testStream(joined)(
      MultiAddData(left, 1 -> at("12:00"))(right, 1 -> at("13:00")),
      ProcessAllAvailable(),
      lateInLastData(0, 0, 0),
      MultiAddData(left, 2 -> at("11:00"), 3 -> at("11:30"))(right, 2 -> at("12:59"), 3 -> at("13:30")),
      ProcessAllAvailable(),
      lateInLastData(3, 2, 1),
      AddData(right, 2 -> at("13:31")),
      ProcessAllAvailable(),
      lateInLastData(0, 0, 0))
  }
}

private object LateRowsSuite {

  /** How many rows each key has had. */
  final class Counter extends StatefulProcessor[String, (String, Timestamp), (String, Long)] {
    @transient private var count: ValueState[Long] = _

    override def init(mode: OutputMode, time: TimeMode): Unit =
      count = getHandle.getValueState[Long]("count", org.apache.spark.sql.Encoders.scalaLong, TTLConfig.NONE)

    override def handleInputRows(
        key: String,
        rows: Iterator[(String, Timestamp)],
        timers: TimerValues): Iterator[(String, Long)] = {
      count.update(Option(count.get()).getOrElse(0L) + rows.size)
      Iterator(key -> count.get())
    }
  }
}
