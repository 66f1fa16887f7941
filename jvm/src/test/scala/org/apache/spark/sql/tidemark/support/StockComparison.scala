package org.apache.spark.sql.tidemark.support

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.Histories._

/** Runs a query on stock Spark and on Tidemark: the same rows, counts and watermarks, batch by batch. */
trait StockComparison extends RecordedRuns {
  import testImplicits._

  override protected def sparkConf: SparkConf = super.sparkConf.set(SQLConf.SHUFFLE_PARTITIONS.key, "1")

  protected val Delay = "10 minutes"

  /** @param conf settings beside the usual ones
    * @param saying what some row has to have in it, so that it is compared
    */
  protected def sameAsStock(
      name: String,
      mode: String = "append",
      history: History = wandering(1),
      conf: Seq[(String, String)] = Nil,
      saying: Seq[String] = Nil)(query: DataFrame => DataFrame): Unit =
    test(s"stock Spark and Tidemark agree on $name, in $mode mode")(withSQLConf(conf: _*) {
      val expected = stock(run(mode, history, query))
      // Nothing is compared where nothing happens.
      assert(expected.exists(batch => batch.rows.nonEmpty || batch.operators.exists(_.late > 0)))
      for (word <- saying) assert(rows(expected).exists(_.contains(word)), word)
      assertSameBatches(run(mode, history, query), expected)
    })

  /** The stream `id, t` with a watermark on `t`, taken through `query`. */
  protected def run(mode: String, history: History, query: DataFrame => DataFrame): Seq[BatchRun] = {
    val stream = MemoryStream[Event]
    val events = timed(stream).withWatermark("t", Delay)
    record(mode, query(events), history.map(events => () => { stream.addData(events); () }))
  }

  /** Runs on one checkpoint, one after the other. Each has its own settings, part of the history, and query. */
  protected def recordRuns(parts: (Seq[(String, String)], History, DataFrame => DataFrame)*): Seq[BatchRun] = {
    val stream = MemoryStream[Event]
    var batches = Seq.empty[BatchRun]
    withTempDir { checkpoint =>
      val recorder = new Recorder("append", checkpoint)
      for ((conf, steps, query) <- parts)
        withSQLConf(conf: _*) {
          recorder.run(query(timed(stream).withWatermark("t", Delay)))(steps.map(events =>
            () => {
              stream.addData(events)
              ()
            }): _*)
        }
      batches = recorder.batches
    }
    batches
  }

  protected def timed(stream: MemoryStream[Event]): DataFrame =
    stream.toDF().toDF("id", "seconds").select($"id", timestamp_seconds($"seconds").as("t"))
}
