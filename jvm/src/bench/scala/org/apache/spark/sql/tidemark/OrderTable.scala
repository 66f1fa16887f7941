package org.apache.spark.sql.tidemark

import java.nio.file.Files
import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicLong

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.commons.io.FileUtils

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.{DataFrame, Dataset, Encoder, Encoders, SparkSession}
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._

/** Prints what rows in event-time order cost a function in Scala: by `inOrder`, and by code that buffers and sorts them
  * itself. The figure is CPU time of tasks, for the same rows and the same counting function.
  *
  * `python benchmarks --only order` has the same for functions in Python. The arguments are how many rows a batch has, and
  * then how many of them each key has, for each table.
  */
object OrderTable {
  final case class Reading(device: Long, t: Timestamp, number: Long)
  final case class Counted(device: Long, count: Long, last: Long)
  final case class Waiting(millis: Long, number: Long)

  private val Batches = 8
  private val Rounds = 3
  private implicit val reading: Encoder[Reading] = Encoders.product
  private implicit val counted: Encoder[Counted] = Encoders.product
  private implicit val long: Encoder[Long] = Encoders.scalaLong

  def main(arguments: Array[String]): Unit = {
    val rows = arguments.headOption.fold(20000)(_.toInt)
    val perKey = if (arguments.length > 1) arguments.toSeq.drop(1).map(_.toInt) else Seq(1, 10, 1000)
    BenchSession.run(
      SQLConf.SHUFFLE_PARTITIONS.key -> "1",
      SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName) { spark =>
      perKey.foreach(compare(spark, rows, _))
    }
  }

  private def compare(spark: SparkSession, size: Int, perKey: Int): Unit = {
    println(f"$size%,d rows a batch, $perKey%,d of a key: seconds of CPU of tasks, ratio to `inOrder`")
    val folder = Files.createTempDirectory("tidemark-bench-order").toFile
    try {
      writeInputs(spark, folder.getPath, size, size / perKey)
      def rows = spark.readStream
        .schema(reading.schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(s"$folder/*.parquet")
        .withWatermark("t", "2 minutes")
      def ordered(waits: Boolean) =
        inOrder(rows, "t", OrderOptions(by = Seq(col("device")), thenBy = Seq(col("number")), waits = waits))
      val sides = Seq[(String, () => Dataset[Counted])](
        "inOrder" -> (() => count(ordered(waits = true), new Counting)),
        "without order" -> (() => count(rows, new Counting)),
        "sorts by itself" -> (() => count(rows, new Sorting)),
        "inOrder, waits = false" -> (() => count(ordered(waits = false), new Counting)))
      // Code is compiled in the first runs.
      sides.foreach { case (_, side) => cpuSeconds(spark, side()) }
      val runs = (1 to Rounds).map(_ => sides.map { case (_, side) => cpuSeconds(spark, side()) })
      for (((name, _), at) <- sides.zipWithIndex) {
        val ratios = runs.map(run => run(at) / run.head).sorted
        val took = runs.map(_(at)).sorted.apply(Rounds / 2)
        println(f"  $name%-24s $took%7.2f s ${ratios(Rounds / 2)}%6.2fx (${ratios.head}%.2f to ${ratios.last}%.2f)")
      }
    } finally FileUtils.deleteDirectory(folder)
  }

  /** A file for each batch: a minute of event time after the one before, out of order by up to two. */
  private def writeInputs(spark: SparkSession, folder: String, size: Int, keys: Int): Unit =
    for (batch <- 0 until Batches) {
      val seconds = lit(1704103200L + 60 * batch) + expr(s"pmod(hash(id, $batch), 120)")
      val rows = spark.range(size).select(
        (col("id") % keys).as("device"),
        timestamp_seconds(seconds).as("t"),
        (col("id") + batch * size).as("number"))
      rows.coalesce(1).write.parquet(f"$folder/$batch.parquet")
    }

  private def count(rows: DataFrame, processor: StatefulProcessor[Long, Reading, Counted]): Dataset[Counted] =
    rows
      .as[Reading]
      .groupByKey(_.device)
      .transformWithState(processor, TimeMode.EventTime(), OutputMode.Append())

  /** Seconds that the tasks of a query needed, from its first batch to its last. */
  private def cpuSeconds(spark: SparkSession, rows: Dataset[Counted]): Double = {
    val nanos = new AtomicLong
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = nanos.addAndGet(end.taskMetrics.executorCpuTime)
    }
    val checkpoint = Files.createTempDirectory("tidemark-bench-checkpoint").toFile
    spark.sparkContext.addSparkListener(listener)
    try {
      val query = rows.writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(Trigger.AvailableNow())
        .start()
      query.awaitTermination()
      spark.sparkContext.listenerBus.waitUntilEmpty()
      nanos.get / 1e9
    } finally {
      spark.sparkContext.removeSparkListener(listener)
      FileUtils.deleteDirectory(checkpoint)
    }
  }

  /** Counts rows as they come, and keeps the last one's number. */
  private class Counting extends StatefulProcessor[Long, Reading, Counted] {
    @transient private var count: ValueState[Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
      count = getHandle.getValueState[Long]("count", Encoders.scalaLong, TTLConfig.NONE)

    override def handleInputRows(key: Long, rows: Iterator[Reading], times: TimerValues): Iterator[Counted] = {
      var all = if (count.exists()) count.get() else 0L
      var last = 0L
      rows.foreach { row =>
        all += 1
        last = row.number
      }
      count.update(all)
      Iterator.single(Counted(key, all, last))
    }
  }

  /** What people write by hand: rows wait in a list, and a timer is set for the first of them. */
  private class Sorting extends StatefulProcessor[Long, Reading, Counted] {
    @transient private var count: ValueState[Long] = _
    @transient private var waiting: ListState[Waiting] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      count = getHandle.getValueState[Long]("count", Encoders.scalaLong, TTLConfig.NONE)
      waiting = getHandle.getListState[Waiting]("waiting", Encoders.product[Waiting], TTLConfig.NONE)
    }

    override def handleInputRows(key: Long, rows: Iterator[Reading], times: TimerValues): Iterator[Counted] =
      emit(key, rows.map(row => Waiting(row.t.getTime, row.number)), times)

    override def handleExpiredTimer(key: Long, times: TimerValues, timer: ExpiredTimerInfo): Iterator[Counted] =
      emit(key, Iterator.empty, times)

    private def emit(key: Long, added: Iterator[Waiting], times: TimerValues): Iterator[Counted] = {
      val all = (waiting.get() ++ added).toArray.sortBy(row => (row.millis, row.number))
      val passed = times.getCurrentWatermarkInMs()
      val (due, later) = all.span(_.millis <= passed)
      if (later.isEmpty) waiting.clear()
      else {
        waiting.put(later)
        getHandle.registerTimer(math.max(later.head.millis, passed + 1))
      }
      if (due.isEmpty) Iterator.empty
      else {
        val counted = due.length + (if (count.exists()) count.get() else 0L)
        count.update(counted)
        Iterator.single(Counted(key, counted, due.last.number))
      }
    }
  }
}
