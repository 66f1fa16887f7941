package org.apache.spark.sql.tidemark

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}
import java.util.zip.CRC32

import scala.concurrent.{Future, Promise}

import io.tidemark.AsyncOptions
import io.tidemark.functions.mapAsync

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.LongType

/** Prints how many calls a second `mapAsync` makes in one task, in order and not, and what a row without a call costs.
  *
  * `python benchmarks --only async` has the same for functions in Python.
  */
object CallsTable {
  private val Calls = 40000L
  private val Nulls = 4000000L
  private val Rounds = 5

  def main(arguments: Array[String]): Unit =
    BenchSession.run() { spark =>
      println("Calls a second of one task, 64 in flight: 5 ms each, and 1 s at p99.9")
      compare(
        Calls,
        Seq(
          "unordered" -> called(spark.range(0, Calls, 1, 1).toDF("n"), ordered = false),
          "ordered" -> called(spark.range(0, Calls, 1, 1).toDF("n"), ordered = true)))
      println("Rows a second without a call: their inputs are null")
      val nulls = spark.range(0, Nulls, 1, 1).select(when(col("id") < 0, col("id")).as("n"))
      compare(
        Nulls,
        Seq(
          "without mapAsync" -> nulls.withColumn("same", col("n")),
          "unordered" -> called(nulls, ordered = false),
          "ordered" -> called(nulls, ordered = true)))
    }

  private def called(rows: DataFrame, ordered: Boolean): DataFrame =
    mapAsync(rows, "same", Seq(col("n")), LongType, AsyncOptions(ordered = ordered, skipsNulls = true)) { row =>
      Service.call(row.getLong(0))
    }

  /** The median and the range of each side, and of its ratio to the first one. */
  private def compare(rows: Long, sides: Seq[(String, DataFrame)]): Unit = {
    // Code is compiled in the first runs.
    sides.foreach { case (_, side) => seconds(side) }
    val runs = (1 to Rounds).map(_ => sides.map { case (_, side) => seconds(side) })
    for (((name, _), at) <- sides.zipWithIndex) {
      val took = runs.map(_(at)).sorted.apply(Rounds / 2)
      val ratios = runs.map(run => run.head / run(at)).sorted
      val more = runs.map(run => (run(at) - run.head) / rows * 1e6).sorted.apply(Rounds / 2)
      println(f"  $name%-18s ${rows / took}%,12.0f  ${ratios(Rounds / 2)}%6.2fx (${ratios.head}%.2f to " +
        f"${ratios.last}%.2f), $more%+6.2f us a row")
    }
  }

  private def seconds(rows: DataFrame): Double = {
    val begun = System.nanoTime()
    rows.write.format("noop").mode("overwrite").save()
    (System.nanoTime() - begun) / 1e9
  }

  /** Answers after 5 ms, and one number in a thousand after a second. */
  private object Service {
    private val timer: ScheduledExecutorService = Executors.newScheduledThreadPool(
      1,
      { (task: Runnable) =>
        val thread = new Thread(task)
        thread.setDaemon(true)
        thread
      })

    def call(n: Long): Future[Any] = {
      val answer = Promise[Any]()
      val hash = new CRC32
      hash.update(BigInt(n).toByteArray)
      val millis = if (hash.getValue % 1000 == 0) 1000L else 5L
      val answering: Runnable = () => { val _ = answer.success(n) }
      val _ = timer.schedule(answering, millis, TimeUnit.MILLISECONDS)
      answer.future
    }
  }
}
