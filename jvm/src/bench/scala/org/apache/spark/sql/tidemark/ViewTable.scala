package org.apache.spark.sql.tidemark

import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicBoolean

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.core.OriginName
import io.tidemark.core.history.{History, Moment}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamingQueryWrapper}
import org.apache.spark.sql.functions._
import org.apache.spark.util.SizeEstimator

/** Prints what it costs a query that people can see into it: the share of the driver's time that goes into why nothing comes
  * out, the history, the log and the progress, and the memory that a history takes.
  *
  * The query's thread is sampled, because the share is too small to be seen as a difference of two runs.
  *
  * The reason rests while it has cost more than its share. The news of splits do not, so a query in which each row is a split
  * of its own is measured, too: each of its batches scans all splits so far.
  */
object ViewTable {
  private val Batches = 200
  private val RowsOfBatch = 1000
  private val MostSplitsOfRows = 100000
  private val SampleMillis = 1L

  private val news =
    Seq("org.apache.spark.sql.tidemark.status.SplitNews", "org.apache.spark.sql.tidemark.status.SplitsSeenOnce")

  private val parts = news ++ Seq(
    "org.apache.spark.sql.tidemark.status.Reason",
    "org.apache.spark.sql.tidemark.status.ProgressFields",
    "io.tidemark.core.history.",
    "io.tidemark.core.why.")

  def main(arguments: Array[String]): Unit = {
    BenchSession.run("spark.sql.shuffle.partitions" -> "1", "spark.tidemark.maxSplits" -> "2000000") { spark =>
      for (splits <- Seq(10, 10000, 1000000)) {
        val query = new MeasuredQuery(spark, Idle())
        query.batch((0 until splits).map(_ -> 0))
        val found = query.measured(Batches / 4, Batches)(n => rows.map(i => (i * 7919 + n) % splits -> n))
        println(f"$splits%,10d splits: $found")
      }
      // As with split_by="click_id".
      for (idle <- Seq(Idle(), Idle("10 seconds"))) {
        val batches = MostSplitsOfRows / RowsOfBatch
        val found = new MeasuredQuery(spark, idle)
          .measured(batches / 4, batches - batches / 4)(n => rows.map(i => (n * RowsOfBatch + i) -> n))
        val idleAfter = idle.after.fold("")(after => s", idle after $after")
        println(f"each row a split of its own, up to $MostSplitsOfRows%,d splits$idleAfter: $found")
      }
    }
    println(f"A history of ${History.MostInputs}%d inputs after 100,000 batches: ${historyBytes / 1024}%,d KiB")
  }

  private def rows = 0 until RowsOfBatch

  /** The shares of samples in all parts and in the news of splits, and the mean length of a batch. */
  private final case class Found(share: Double, newsShare: Double, millis: Double) {
    override def toString: String =
      f"${share * 100}%.2f %% of the driver's time, news of splits ${newsShare * 100}%.2f %%, batches of $millis%.0f ms"
  }

  /** Counts rows of devices by the hour. */
  private final class MeasuredQuery(spark: SparkSession, idle: Idle) {
    import spark.implicits._

    private val stream = MemoryStream[(Int, Timestamp)](spark)
    private val query = withWatermark(
      stream.toDF().toDF("device", "time"),
      "time",
      "10 minutes",
      WatermarkOptions(splitBy = SplitBy(Seq($"device")), idle = idle))
      .groupBy(window($"time", "1 hour")).count().writeStream.format("noop").outputMode("append").start()

    /** @param rows devices, and times in seconds */
    def batch(rows: Seq[(Int, Int)]): Unit = {
      stream.addData(rows.map { case (device, second) => device -> new Timestamp(second * 1000L) })
      query.processAllAvailable()
    }

    /** Stops the query at the end.
      * @param warmUp how many batches come before those that are measured
      * @param rows of each batch, by its number
      */
    def measured(warmUp: Int, batches: Int)(rows: Int => Seq[(Int, Int)]): Found =
      try {
        (0 until warmUp).foreach(n => batch(rows(n)))
        val sampler = new Sampler(query.asInstanceOf[StreamingQueryWrapper].streamingQuery.queryExecutionThread)
        sampler.start()
        val begun = System.nanoTime()
        (warmUp until warmUp + batches).foreach(n => batch(rows(n)))
        val millis = (System.nanoTime() - begun) / 1e6 / batches
        sampler.found(millis)
      } finally query.stop()
  }

  private final class Sampler(sampled: Thread) extends Thread("sampler") {
    setDaemon(true)
    private val isDone = new AtomicBoolean
    private var all = 0L
    private var inside = 0L
    private var insideNews = 0L

    override def run(): Unit = while (!isDone.get) {
      val classes = sampled.getStackTrace.map(_.getClassName)
      def isIn(some: Seq[String]) = classes.exists(name => some.exists(name.startsWith))
      all += 1
      if (isIn(parts)) inside += 1
      if (isIn(news)) insideNews += 1
      Thread.sleep(SampleMillis)
    }

    def found(millis: Double): Found = {
      isDone.set(true)
      join()
      Found(inside.toDouble / all, insideNews.toDouble / all, millis)
    }
  }

  private def historyBytes: Long = {
    val names = (1 to History.MostInputs).map(n => OriginName(s"input-$n", 0))
    val full = (1 to 100000).foldLeft(History.of(names)) { (past, batch) =>
      past.after(Moment(
        batch.toLong,
        batch.toLong,
        0L,
        batch.toLong,
        names.map(_ => Moment.InputMoment(Some(batch.toLong), Some(batch.toLong), 1, 0))))
    }
    SizeEstimator.estimate(full)
  }
}
