package org.apache.spark.sql.tidemark.sources

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.kafka010.PartitionedLog
import org.apache.spark.sql.tidemark.support.ManualClockTest

/** Kafka's offsets show which partitions exist, and which have rows to read. The clock is the test's own. */
class KafkaSplitsSuite extends ManualClockTest {
  import testImplicits._

  private val tenSeconds = WatermarkOptions(idle = Idle("10 seconds"))

  private def counted(by: Seq[Column], limit: Long = Long.MaxValue, whenIdle: String = "hold"): DataFrame = {
    val topic = spark.readStream.format(classOf[PartitionedLog].getName).option("limit", limit).load()
    withWatermark(
      topic,
      "time",
      "0 seconds",
      tenSeconds.copy(splitBy = SplitBy(by), idle = tenSeconds.idle.copy(whenAll = Some(whenIdle))))
      .groupBy(window($"time", "10 minutes").as("w"), $"partition")
      .count()
      .select($"partition", date_format($"w.start", "HH:mm"), $"count")
  }

  /** Adds rows for the next trigger. */
  private def add(partition: Int, times: String*): StreamAction = Execute { _ =>
    triggered()
    PartitionedLog.add(partition, times.map(millis): _*)
  }

  private def after(millis: Long): StreamAction = AdvanceManualClock(millis)

  private def partitionsAre(names: String*): StreamAction = Execute { query =>
    val splits = watermarksOf(query).view.get.snapshot.entry.origins.values.head.splits
    assert((0 until splits.size).map(s => SplitNameTable.show(splits.name(s))).toSet === names.toSet)
  }

  private val byPartition = Seq(col("topic"), col("partition"))

  test("Kafka partitions are known before their first row, and hold the watermark back") {
    PartitionedLog.begin(partitions = 2)
    run(counted(byPartition))(
      add(0, "10:00", "10:30"),
      after(1000),
      partitionsAre("[t, 0]", "[t, 1]"),
      originsAre("time" -> None),
      add(1, "10:05"),
      after(1000),
      originsAre("time" -> Some(millis("10:05"))),
      // A partition that appears later is known at the end of the batch that finds it.
      add(2, "10:12"),
      add(1, "10:40"),
      after(1000),
      partitionsAre("[t, 0]", "[t, 1]", "[t, 2]"),
      originsAre("time" -> Some(millis("10:12"))),
      after(1000),
      CheckNewAnswer((0, "10:00", 1L), (1, "10:00", 1L)))
  }

  test("a silent Kafka partition becomes idle, even if it has never had a row") {
    PartitionedLog.begin(partitions = 3)
    run(counted(byPartition))(
      add(0, "10:00"),
      add(1, "10:05"),
      after(1000),
      add(0, "10:30"),
      after(9000),
      CheckNewAnswer(),
      add(0, "10:31"),
      after(1000),
      CheckNewAnswer(),
      after(1000),
      CheckNewAnswer((0, "10:00", 1L), (1, "10:00", 1L)))
  }

  test("a Kafka partition with unread rows is never idle, however much time passes") {
    PartitionedLog.begin(partitions = 2)
    run(counted(byPartition, limit = 1, whenIdle = "rise"))(
      // A batch reads one row of each partition. Batches are a minute apart, six times the idle time.
      add(0, "12:00", "12:10"),
      add(1, "10:00", "10:01", "10:02", "10:03"),
      after(1000),
      after(60000),
      after(60000),
      after(60000),
      originsAre("time" -> Some(millis("10:03"))),
      CheckNewAnswer(),
      after(60000),
      CheckNewAnswer((0, "12:00", 1L), (1, "10:00", 4L)))
  }

  moreTests {
    test("Kafka partitions are known for any order of the split columns, and for renamed columns") {
      PartitionedLog.begin(partitions = 1)
      val topic = spark.readStream.format(classOf[PartitionedLog].getName).load().toDF("of", "number", "time")
      val marked = withWatermark(topic, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"number", $"of")))
      run(marked.groupBy(window($"time", "10 minutes")).count())(
        add(0, "10:00"),
        after(1000),
        partitionsAre("[0, t]"),
        originsAre("time" -> Some(millis("10:00"))))
    }

    test("a split that is not a Kafka partition is not idle while a limit holds rows back") {
      PartitionedLog.begin(partitions = 2)
      run(counted(Seq(concat_ws("-", $"topic", $"partition")), limit = 1, whenIdle = "rise"))(
        add(0, "12:00"),
        add(1, "10:00", "10:01", "10:02", "10:03"),
        after(1000),
        after(60000),
        after(60000),
        after(60000),
        // Split t-0 has had no rows for three minutes, but the rows that were held back might have been its own.
        partitionsAre("t-0", "t-1"),
        originsAre("time" -> Some(millis("10:03"))),
        CheckNewAnswer(),
        after(60000),
        CheckNewAnswer((1, "10:00", 4L)))
    }

    test("no Kafka partition is idle after a pause of all partitions, which ends when the first has rows again") {
      PartitionedLog.begin(partitions = 3)
      run(counted(byPartition))(
        add(0, "12:00"),
        add(1, "10:00"),
        add(2, "12:00"),
        after(1000),
        after(1000),
        after(17000),
        add(0, "12:01"),
        after(1000),
        add(0, "12:02"),
        after(1000),
        originsAre("time" -> Some(millis("10:00"))),
        add(1, "10:01", "10:12"),
        add(2, "12:02"),
        after(1000),
        after(1000),
        CheckNewAnswer((1, "10:00", 2L)))
    }

    test("an idle Kafka partition is active again from the batch that reads its first new row") {
      PartitionedLog.begin(partitions = 2)
      run(counted(byPartition, limit = 1))(
        add(0, "10:00"),
        add(1, "10:05"),
        after(1000),
        add(0, "10:20"),
        after(10000),
        after(1000),
        CheckNewAnswer((0, "10:00", 1L), (1, "10:00", 1L)),
        add(1, "10:21", "10:22", "10:31"),
        add(0, "11:00", "11:10"),
        after(60000),
        after(60000),
        originsAre("time" -> Some(millis("10:22"))),
        after(60000),
        after(1000),
        CheckNewAnswer((0, "10:20", 1L), (1, "10:20", 2L)))
    }
  }
}
