package org.apache.spark.sql.tidemark

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.kafka010.PartitionedLog

/** What Kafka's offsets say of its partitions: which are there, and which have rows to be read. By a clock of the test. */
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

  /** For the next trigger. */
  private def add(partition: Int, times: String*): StreamAction = Execute { _ =>
    triggered()
    PartitionedLog.add(partition, times.map(millis): _*)
  }

  private def after(millis: Long): StreamAction = AdvanceManualClock(millis)

  private def partitionsAre(names: String*): StreamAction = Execute { query =>
    val splits = keyed(query).view.get.snapshot.entry.origins.values.head.splits
    assert((0 until splits.size).map(s => SplitNameTable.show(splits.name(s))).toSet === names.toSet)
  }

  private val byPartition = Seq(col("topic"), col("partition"))

  test("partitions are known before their first row, and hold the watermark") {
    PartitionedLog.begin(partitions = 2)
    run(counted(byPartition))(
      add(0, "10:00", "10:30"),
      after(1000),
      partitionsAre("[t, 0]", "[t, 1]"),
      originsAre("time" -> None),
      add(1, "10:05"),
      after(1000),
      originsAre("time" -> Some(millis("10:05"))),
      // One that appears later is known by the end of the batch that finds it.
      add(2, "10:12"),
      add(1, "10:40"),
      after(1000),
      partitionsAre("[t, 0]", "[t, 1]", "[t, 2]"),
      originsAre("time" -> Some(millis("10:12"))),
      after(1000),
      CheckNewAnswer((0, "10:00", 1L), (1, "10:00", 1L)))
  }

  test("the names are the same whichever column comes first, and renamed columns are found") {
    PartitionedLog.begin(partitions = 1)
    val topic = spark.readStream.format(classOf[PartitionedLog].getName).load().toDF("of", "number", "time")
    val marked = withWatermark(topic, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"number", $"of")))
    run(marked.groupBy(window($"time", "10 minutes")).count())(
      add(0, "10:00"),
      after(1000),
      partitionsAre("[0, t]"),
      originsAre("time" -> Some(millis("10:00"))))
  }

  test("a partition that is silent falls idle, one that has never had a row too") {
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

  test("a partition with rows to be read is never idle, whatever the clock says") {
    PartitionedLog.begin(partitions = 2)
    run(counted(byPartition, limit = 1, whenIdle = "rise"))(
      // A row of each partition in a batch, a minute apart: six times the idle time.
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

  test("split by anything else, nobody is idle while a limit holds rows back") {
    PartitionedLog.begin(partitions = 2)
    run(counted(Seq(concat_ws("-", $"topic", $"partition")), limit = 1, whenIdle = "rise"))(
      add(0, "12:00"),
      add(1, "10:00", "10:01", "10:02", "10:03"),
      after(1000),
      after(60000),
      after(60000),
      after(60000),
      // The one has been silent for three minutes, and might have been among the rows that were held back.
      partitionsAre("t-0", "t-1"),
      originsAre("time" -> Some(millis("10:03"))),
      CheckNewAnswer(),
      after(60000),
      CheckNewAnswer((1, "10:00", 4L)))
  }

  test("after a pause of all partitions, which the first that returns ends, none has fallen idle") {
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

  test("rows that come to an idle partition are waited for from the batch on that reads them") {
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
