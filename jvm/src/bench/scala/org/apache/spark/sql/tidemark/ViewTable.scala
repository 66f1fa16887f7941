package org.apache.spark.sql.tidemark

import java.sql.Timestamp
import java.util.concurrent.atomic.AtomicBoolean

import io.tidemark.{SplitBy, WatermarkOptions}
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
  */
object ViewTable {
  private val Batches = 200
  private val SampleMillis = 1L

  private val parts = Seq(
    "org.apache.spark.sql.tidemark.status.Reason",
    "org.apache.spark.sql.tidemark.status.SplitNews",
    "org.apache.spark.sql.tidemark.status.SplitsSeenOnce",
    "org.apache.spark.sql.tidemark.status.ProgressFields",
    "io.tidemark.core.history.",
    "io.tidemark.core.why.")

  def main(arguments: Array[String]): Unit = {
    BenchSession.run("spark.sql.shuffle.partitions" -> "1", "spark.tidemark.maxSplits" -> "2000000") { spark =>
      for (splits <- Seq(10, 10000, 1000000)) {
        val (share, millis) = measured(spark, splits)
        println(f"$splits%,10d splits: ${share * 100}%.2f %% of the driver's time, batches of $millis%.0f ms")
      }
    }
    println(f"A history of ${History.MostInputs}%d inputs after 100,000 batches: ${historyBytes / 1024}%,d KiB")
  }

  /** The share of samples in these parts, and the mean length of a batch. */
  private def measured(spark: SparkSession, splits: Int): (Double, Double) = {
    import spark.implicits._
    val stream = MemoryStream[(Int, Timestamp)](spark)
    val marked = withWatermark(
      stream.toDF().toDF("device", "time"),
      "time",
      "10 minutes",
      WatermarkOptions(splitBy = SplitBy(Seq($"device"))))
    val query =
      marked.groupBy(window($"time", "1 hour")).count().writeStream.format("noop").outputMode("append").start()
    try {
      stream.addData((0 until splits).map(_ -> new Timestamp(0L)))
      query.processAllAvailable()
      def batch(n: Int): Unit = {
        stream.addData((0 until 1000).map(i => (i * 7919 + n) % splits -> new Timestamp(n * 1000L)))
        query.processAllAvailable()
      }
      (1 to Batches / 4).foreach(batch)
      val thread = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.queryExecutionThread
      val sampler = new Sampler(thread)
      sampler.start()
      val begun = System.nanoTime()
      (1 to Batches).foreach(n => batch(Batches + n))
      val millis = (System.nanoTime() - begun) / 1e6 / Batches
      (sampler.share(), millis)
    } finally query.stop()
  }

  private final class Sampler(sampled: Thread) extends Thread("sampler") {
    setDaemon(true)
    private val isDone = new AtomicBoolean
    private var all = 0L
    private var inside = 0L

    override def run(): Unit = while (!isDone.get) {
      all += 1
      if (sampled.getStackTrace.exists(frame => parts.exists(frame.getClassName.startsWith))) inside += 1
      Thread.sleep(SampleMillis)
    }

    def share(): Double = {
      isDone.set(true)
      join()
      inside.toDouble / all
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
