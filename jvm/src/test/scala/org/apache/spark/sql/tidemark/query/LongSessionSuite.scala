package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import io.tidemark.{Idle, MoreSuite, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.scalatest.time.SpanSugar._

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.status.Gauges
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** A session in which many queries run, one after the other and side by side: nothing of them stays when they have ended. */
class LongSessionSuite extends WatermarkTest with MoreSuite {
  import testImplicits._

  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.SHUFFLE_PARTITIONS.key, "1").set(SQLConf.STREAMING_METRICS_ENABLED.key, "true")

  private type Rows = MemoryStream[(Int, Timestamp)]

  private val options = WatermarkOptions(splitBy = SplitBy($"id"), idle = Idle("1 hour"))

  private def hourly(stream: Rows): DataFrame =
    withWatermark(stream.toDF().toDF("id", "t"), "t", "1 minute", options).groupBy(window($"t", "1 hour")).count()

  private def started(df: DataFrame)(each: Long => Unit = _ => ()): StreamingQuery = {
    val sink = (batch: Dataset[Row], _: Long) => each(batch.count())
    df.writeStream.foreachBatch(sink).start()
  }

  /** What a query may leave behind: its gauges, its threads, and what hears of its end. */
  private def left: Map[String, Int] = Map(
    "gauges" -> Gauges.names.size,
    "threads" -> Thread.getAllStackTraces.keySet.asScala.count { thread =>
      thread.getName.contains("stream execution thread") || thread.getName.startsWith("tidemark-")
    },
    "listeners" -> spark.streams.listListeners().length,
    "queries" -> spark.streams.active.length)

  /** The heap after a collection, in MB. */
  private def heap: Long = {
    (1 to 3).foreach(_ => System.gc())
    (Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory) >> 20
  }

  private def assertLevel(before: Map[String, Int]): Unit = eventually(timeout(90.seconds)) {
    // A pool keeps a thread for a minute.
    for ((what, count) <- left) assert(count <= before(what) + (if (what == "threads") 4 else 0), s"($what)")
  }

  test("200 queries that are started and stopped leave nothing behind") {
    val stream = MemoryStream[(Int, Timestamp)]
    def one(): Unit = {
      val query = started(hourly(stream))()
      try {
        stream.addData((1, at("10:00")))
        query.processAllAvailable()
      } finally query.stop()
    }
    // The reports of 100 queries are kept.
    (1 to 100).foreach(_ => one())
    val (before, used) = (left, heap)
    (1 to 100).foreach(_ => one())
    assertLevel(before)
    val growth = heap - used
    info(s"$growth MB more after 100 queries, of $used MB")
    assert(growth < 40)
  }

  test("50 queries that run side by side each have their own watermark, and leave nothing behind") {
    val before = left
    val streams = (0 until 50).map(_ => MemoryStream[(Int, Timestamp)])
    val counts = streams.map(_ => new java.util.concurrent.atomic.AtomicLong)
    val queries = streams.zip(counts).map { case (stream, count) =>
      started(hourly(stream))(rows => { val _ = count.addAndGet(rows) })
    }
    try {
      for ((stream, index) <- streams.zipWithIndex) {
        stream.addData((1, at("10:10")), (1, at("11:10")))
        if (index % 2 == 0) stream.addData((1, at("12:10")))
      }
      queries.foreach(_.processAllAvailable())
      assert(counts.map(_.get) === (0 until 50).map(index => if (index % 2 == 0) 2L else 1L))
    } finally queries.foreach(_.stop())
    assertLevel(before)
  }

  test("a union of 64 inputs waits for each of them") {
    val streams = (0 until 64).map(_ => MemoryStream[(Int, Timestamp)])
    val inputs = streams.zipWithIndex.map { case (stream, index) =>
      stream.toDF().toDF(
        "id",
        "t").withColumnRenamed("t", s"t$index").withWatermark(s"t$index", "1 minute").toDF("id", "t")
    }
    var emitted = 0L
    val query = started(inputs.reduce(_ union _).groupBy(window($"t", "1 hour")).count())(rows => emitted += rows)
    try {
      streams.foreach(_.addData((1, at("10:10"))))
      streams.tail.foreach(_.addData((1, at("12:10"))))
      query.processAllAvailable()
      assert(emitted === 0)
      streams.head.addData((1, at("11:10")))
      query.processAllAvailable()
      assert(emitted === 1)
    } finally query.stop()
  }

  // One query, in tests that each take half of its batches.
  private lazy val long = {
    val stream = MemoryStream[(Int, Timestamp)]
    stream -> started(hourly(stream))()
  }

  private def batches(from: Int, until: Int): Unit = for (batch <- from until until) {
    val (stream, query) = long
    stream.addData((batch % 10, new Timestamp(at("10:00").getTime + batch * 60000L)))
    query.processAllAvailable()
  }

  /** The heap after the first half. */
  private var used = 0L

  test("a query runs 1,000 batches") {
    batches(0, 1000)
    used = heap
  }

  test("1,000 batches more take no more memory") {
    try {
      batches(1000, 2000)
      val growth = heap - used
      info(s"$growth MB more after 1,000 batches, of $used MB")
      assert(growth < 40)
    } finally long._2.stop()
  }
}
