package org.apache.spark.sql.tidemark.comparison

import io.tidemark.MoreSuite

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.{HDFSBackedStateStoreProvider, RocksDBStateStoreProvider}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.{BatchRun, StockJoinComparison}
import org.apache.spark.sql.tidemark.support.Histories.{wandering, Event}

/** A join does the same whatever keeps its state, and in whichever format: rows and watermarks of each batch. Each side
  * advances at its own speed.
  */
class StateStoresSuite extends StockJoinComparison with MoreSuite {
  import testImplicits._

  private val hdfs = classOf[HDFSBackedStateStoreProvider]
  private val rocksDb = classOf[RocksDBStateStoreProvider]
  private val histories = (wandering(6, steps = 5), wandering(7, steps = 5, rows = 4))

  for {
    (provider, format) <- Seq(rocksDb -> 2, rocksDb -> 3, rocksDb -> 4)
    (how, join) <- Seq("a time range" -> byRange("full_outer"), "equal windows" -> byWindows("full_outer"))
  }
    test(s"a join by $how does the same with ${provider.getSimpleName}, state format $format, as with files") {
      val expected = joined(hdfs, 2, join)
      assert(expected.exists(_.rows.exists(_.contains("null"))) && expected.exists(_.operators.exists(_.late > 0)))
      assertSameBatches(joined(provider, format, join), expected)
    }

  /** A format counts equal rows in state as it likes. */
  private def comparable(batch: BatchRun): BatchRun = batch.copy(operators = batch.operators.map(_.copy(rows = 0)))

  private def joined(provider: Class[_], format: Int, join: Joining): Seq[BatchRun] = {
    var batches = Seq.empty[BatchRun]
    withSQLConf(
      SQLConf.STATE_STORE_PROVIDER_CLASS.key -> provider.getName,
      SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION.key -> format.toString) {
      val (left, right) = (MemoryStream[Event], MemoryStream[Event])
      val query = join(
        timed(left).withWatermark("t", Delay),
        timed(right).select($"id".as("id2"), $"t".as("t2")).withWatermark("t2", "2 minutes"))
      batches = record(
        "append",
        query,
        histories._1.zip(histories._2).map { case (some, others) =>
          () => { left.addData(some); right.addData(others); () }
        })
    }
    batches.map(comparable)
  }
}
