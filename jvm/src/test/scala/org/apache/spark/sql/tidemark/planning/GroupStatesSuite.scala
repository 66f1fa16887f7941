package org.apache.spark.sql.tidemark.planning

import java.sql.Timestamp
import java.time.Duration

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Dataset, Encoders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.tidemark.support.ManualClockTest

/** A user's state function uses its own input's watermark, and of several columns that of the one declared last. */
class GroupStatesSuite extends ManualClockTest {
  import GroupStatesSuite._
  import testImplicits._

  // transformWithState supports no other state store.
  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, classOf[RocksDBStateStoreProvider].getName)

  private def twoTimes() = {
    val stream = MemoryStream[Event]
    val events =
      stream.toDF().toDF("id", "ta", "tx").withWatermark("ta", "0 seconds").withWatermark("tx", "0 seconds").as[Event]
    (stream, events)
  }

  testMore("flatMapGroupsWithState uses the last declared watermark for late rows and timeouts") {
    val (stream, events) = twoTimes()
    val ends = events.groupByKey(_._1)
      .flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.EventTimeTimeout)(untilSilent)
      .toDF("id", "what")
    testStream(ends)(
      AddData(stream, (1, at("12:00"), at("10:00"))),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "row")),
      // The first row is late by `tx`, and the second by `ta`.
      AddData(stream, (2, at("12:01"), at("9:50")), (3, at("9:00"), at("10:30"))),
      ProcessAllAvailable(),
      CheckNewAnswer((3, "row"), (1, "silent")))
  }

  testMore("the event-time column that transformWithState declares advances with the last declared watermark") {
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

  /** A union with windows of a stream that is behind. */
  private def besideSlow(outputs: Dataset[Output]): (MemoryStream[(Int, Timestamp)], DataFrame) = {
    val (slow, behind) = timed("slow", "0 seconds")
    val windows = behind.groupBy(window($"slow", "10 minutes")).count()
    val counts = windows.select(lit(-1), lit("count"), $"count", $"window.start", $"window.end")
    slow -> outputs.toDF().union(counts).select("id", "what", "rows", "watermark")
  }

  private val none = new Timestamp(0)

  private val keepings = Seq[(String, Dataset[Timed] => Dataset[Output])](
    "flatMapGroupsWithState" ->
      (_.groupByKey(_._1).flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.EventTimeTimeout)(countedUntil)),
    "transformWithState" ->
      (_.groupByKey(_._1).transformWithState(new CountedUntil, TimeMode.EventTime(), OutputMode.Append)))

  for ((name, keep) <- keepings)
    test(
      s"$name uses the watermark of its own input, not of a slower one, for late rows, timeouts and reads") {
      val (fast, a) = timed("fast", "0 seconds")
      val (slow, all) = besideSlow(keep(a.as[Timed]))
      testStream(all)(
        MultiAddData(fast, 1 -> at("12:00"))(slow, 1 -> at("10:00")),
        ProcessAllAvailable(),
        CheckNewAnswer((1, "row", 1L, none)),
        AddData(fast, 2 -> at("12:30")),
        ProcessAllAvailable(),
        CheckNewAnswer((2, "row", 1L, at("12:00")), (1, "silent", 1L, at("12:30"))),
        // The first row is late.
        MultiAddData(fast, 3 -> at("12:20"), 3 -> at("12:31"))(slow, 1 -> at("10:05")),
        ProcessAllAvailable(),
        CheckNewAnswer((3, "row", 1L, at("12:30"))),
        // An input that is ahead has no effect either.
        AddData(slow, 2 -> at("13:00")),
        ProcessAllAvailable(),
        CheckNewAnswer((-1, "count", 2L, at("10:10"))),
        AddData(fast, 3 -> at("12:32")),
        ProcessAllAvailable(),
        CheckNewAnswer((3, "row", 2L, at("12:31"))))
    }

  testMore("timers of transformWithState do not wait for a slower input that joins its output") {
    val (fast, a) = timed("fast", "0 seconds")
    val (slow, b) = timed("slow", "0 seconds", "of")
    val outputs = a.as[Timed].groupByKey(_._1).transformWithState(new CountedUntil, "until", OutputMode.Append)
    val joined = outputs
      .join(b, expr("id = of AND slow BETWEEN until - INTERVAL 10 MINUTES AND until"))
      .select($"id", $"what", $"rows", $"watermark", date_format($"slow", "HH:mm"))
    testStream(joined)(
      MultiAddData(fast, 1 -> at("12:00"))(slow, 9 -> at("10:00")),
      ProcessAllAvailable(),
      AddData(fast, 2 -> at("12:30")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(slow, 1 -> at("12:05")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "row", 1L, none, "12:05"), (1, "silent", 1L, at("12:30"), "12:05")),
      // The first row is late.
      MultiAddData(fast, 3 -> at("12:20"), 3 -> at("12:36"))(slow, 3 -> at("12:45")),
      ProcessAllAvailable(),
      CheckNewAnswer((3, "row", 1L, at("12:30"), "12:45")))
  }

  testMore("timers of the initial state of transformWithState use the watermark of its own input") {
    val (fast, a) = timed("fast", "0 seconds")
    val before = Seq(7 -> at("10:00")).toDS().groupByKey(_._1)
    val (slow, all) = besideSlow(a.as[Timed].groupByKey(_._1)
      .transformWithState(new CountedUntil, TimeMode.EventTime(), OutputMode.Append, before))
    testStream(all)(
      MultiAddData(fast, 1 -> at("10:05"))(slow, 1 -> at("8:00")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "row", 1L, none)),
      AddData(fast, 1 -> at("10:11")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "row", 2L, at("10:05")), (7, "silent", 1L, at("10:11"))))
  }

  private def remembered(events: DataFrame): Dataset[Output] =
    events.as[Timed].groupByKey(_._1).transformWithState(new Remembered, TimeMode.ProcessingTime(), OutputMode.Append)

  /** A trigger runs each second, and any of them may read a row. */
  private def forgottenAfterThreeSeconds(stream: MemoryStream[Timed], query: DataFrame): Unit =
    run(query)(
      AddData(stream, 1 -> at("10:00")),
      AdvanceManualClock(1000),
      CheckNewAnswer((1, "row", 1L, none)),
      AdvanceManualClock(1000),
      // The row would be late by event time, which has no effect here.
      AddData(stream, 1 -> at("9:00")),
      AdvanceManualClock(1000),
      CheckNewAnswer((1, "row", 2L, at("10:00"))),
      AdvanceManualClock(3000),
      AddData(stream, 1 -> at("10:05")),
      AdvanceManualClock(1000),
      CheckNewAnswer((1, "row", 1L, at("10:00"))),
      AdvanceManualClock(1000),
      AddData(stream, 1 -> at("10:06")),
      AdvanceManualClock(1000),
      CheckNewAnswer((1, "row", 2L, at("10:05"))))

  testMore("state of transformWithState expires by processing time, whatever the watermark is, as in stock Spark") {
    def alone(): Unit = {
      val (stream, events) = timed("t", "0 seconds")
      forgottenAfterThreeSeconds(stream, remembered(events).select("id", "what", "rows", "watermark"))
    }
    alone()
    stock(alone())
  }

  testMore("state of transformWithState expires by processing time, and its function reads its own input's watermark") {
    val (fast, a) = timed("fast", "0 seconds")
    val (slow, all) = besideSlow(remembered(a))
    slow.addData(1 -> at("8:00"))
    forgottenAfterThreeSeconds(fast, all)
  }
}

object GroupStatesSuite {
  type Event = (Int, Timestamp, Timestamp)

  private val TenMinutes = 600000L

  /** Emits a row for each row, and another one after ten minutes without rows. */
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

  type Timed = (Int, Timestamp)

  /** @param rows how many rows the group has had so far
    * @param until when ten minutes without rows end
    * @param watermark the watermark that the function has read
    */
  final case class Output(id: Int, what: String, rows: Long, until: Timestamp, watermark: Timestamp)

  private def output(id: Int, what: String, rows: Long, until: Long, watermark: Long) =
    Iterator(Output(id, what, rows, new Timestamp(until), new Timestamp(watermark)))

  /** Counts the rows of a group until ten minutes pass without rows. */
  val countedUntil: (Int, Iterator[Timed], GroupState[(Long, Long)]) => Iterator[Output] = (id, events, state) => {
    val (before, last) = state.getOption.getOrElse((0L, 0L))
    if (state.hasTimedOut) {
      state.remove()
      output(id, "silent", before, last, state.getCurrentWatermarkMs())
    } else {
      val times = events.map(_._2.getTime).toSeq
      val (rows, until) = (before + times.size, times.max + TenMinutes)
      state.update((rows, until))
      state.setTimeoutTimestamp(until)
      output(id, "row", rows, until, state.getCurrentWatermarkMs())
    }
  }

  /** Counts in the same way with a timer. The initial state may have one row. */
  final class CountedUntil extends StatefulProcessorWithInitialState[Int, Timed, Output, Timed] {
    @transient private var rows: ValueState[Long] = _

    override def init(mode: OutputMode, time: TimeMode): Unit =
      rows = getHandle.getValueState[Long]("rows", Encoders.scalaLong, TTLConfig.NONE)

    override def handleInitialState(id: Int, before: Timed, timers: TimerValues): Unit = {
      rows.update(1L)
      getHandle.registerTimer(before._2.getTime + TenMinutes)
    }

    override def handleInputRows(id: Int, events: Iterator[Timed], timers: TimerValues): Iterator[Output] = {
      val times = events.map(_._2.getTime).toSeq
      val until = times.max + TenMinutes
      rows.update((if (rows.exists()) rows.get() else 0L) + times.size)
      getHandle.listTimers().toSeq.foreach(getHandle.deleteTimer)
      getHandle.registerTimer(until)
      output(id, "row", rows.get(), until, timers.getCurrentWatermarkInMs())
    }

    override def handleExpiredTimer(id: Int, timers: TimerValues, expired: ExpiredTimerInfo): Iterator[Output] = {
      val before = rows.get()
      rows.clear()
      output(id, "silent", before, expired.getExpiryTimeInMs(), timers.getCurrentWatermarkInMs())
    }
  }

  /** Counts the rows of a group until three seconds of processing time pass without rows. */
  private final class Remembered extends StatefulProcessor[Int, Timed, Output] {
    @transient private var rows: ValueState[Long] = _

    override def init(mode: OutputMode, time: TimeMode): Unit =
      rows = getHandle.getValueState[Long]("rows", Encoders.scalaLong, TTLConfig(Duration.ofSeconds(3)))

    override def handleInputRows(id: Int, events: Iterator[Timed], timers: TimerValues): Iterator[Output] = {
      rows.update((if (rows.exists()) rows.get() else 0L) + events.size)
      output(id, "row", rows.get(), 0L, timers.getCurrentWatermarkInMs())
    }
  }

  final case class Out(id: Int, at: Timestamp)

  /** Emits the latest time of the rows of a batch. */
  private final class Latest extends StatefulProcessor[Int, Event, Out] {
    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = ()
    override def handleInputRows(id: Int, events: Iterator[Event], timers: TimerValues): Iterator[Out] =
      Iterator(Out(id, new Timestamp(events.map(_._3.getTime).max)))
  }
}
