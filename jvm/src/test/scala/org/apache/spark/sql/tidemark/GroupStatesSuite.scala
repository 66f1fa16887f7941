package org.apache.spark.sql.tidemark

import java.sql.Timestamp

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._

/** A state of the user's own, with two event-time columns in the input: it goes by the one that was declared last. */
class GroupStatesSuite extends KeyedWatermarkTest {
  import GroupStatesSuite._
  import testImplicits._

  private def twoTimes() = {
    val stream = MemoryStream[Event]
    val events =
      stream.toDF().toDF("id", "ta", "tx").withWatermark("ta", "0 seconds").withWatermark("tx", "0 seconds").as[Event]
    (stream, events)
  }

  test("flatMapGroupsWithState: rows are late, and groups time out, by the column that was declared last") {
    val (stream, events) = twoTimes()
    val ends = events.groupByKey(_._1)
      .flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.EventTimeTimeout)(untilSilent)
      .toDF("id", "what")
    testStream(ends)(
      AddData(stream, (1, at("12:00"), at("10:00"))),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "row")),
      // Late by `tx`, and late by `ta`.
      AddData(stream, (2, at("12:01"), at("9:50")), (3, at("9:00"), at("10:30"))),
      ProcessAllAvailable(),
      CheckNewAnswer((3, "row"), (1, "silent")))
  }

  test("transformWithState: what it declares as event time goes by the column that was declared last") {
    withSQLConf(SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName) {
      val (stream, events) = twoTimes()
      val windows = events.groupByKey(_._1)
        .transformWithState(new Latest, "at", OutputMode.Append)
        .groupBy(window($"at", "10 minutes"))
        .count()
        .select(date_format($"window.start", "HH:mm"), $"count")
      testStream(windows)(
        AddData(stream, (1, at("12:00"), at("10:00")), (1, at("12:00"), at("10:05"))),
        ProcessAllAvailable(),
        CheckNewAnswer(),
        AddData(stream, (2, at("12:01"), at("9:50")), (3, at("9:00"), at("10:30"))),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:00", 1L)))
    }
  }
}

object GroupStatesSuite {
  type Event = (Int, Timestamp, Timestamp)

  private val TenMinutes = 600000L

  /** Gives out a row for each row, and another when nothing has come for ten minutes. */
  private val untilSilent: (Int, Iterator[Event], GroupState[Int]) => Iterator[(Int, String)] =
    (id, events, state) =>
      if (state.hasTimedOut) {
        state.remove()
        Iterator(id -> "silent")
      } else {
        val times = events.map(_._3.getTime).toSeq
        state.update(times.size)
        state.setTimeoutTimestamp(times.max + TenMinutes)
        times.iterator.map(_ => id -> "row")
      }

  final case class Out(id: Int, at: Timestamp)

  /** Gives out the latest time of the rows of a batch. */
  private final class Latest extends StatefulProcessor[Int, Event, Out] {
    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = ()
    override def handleInputRows(id: Int, events: Iterator[Event], timers: TimerValues): Iterator[Out] =
      Iterator(Out(id, new Timestamp(events.map(_._3.getTime).max)))
  }
}
