package org.apache.spark.sql.tidemark.comparison

import java.sql.Timestamp

import io.tidemark.MoreSuite

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{GroupStateTimeout, OutputMode, TimeMode}
import org.apache.spark.sql.tidemark.planning.GroupStatesSuite._
import org.apache.spark.sql.tidemark.support.Histories._
import org.apache.spark.sql.tidemark.support.StockComparison

/** Stock stays stock: state in RocksDB, with one watermark; transformWithState has no other. */
class StockRocksDbSuite extends StockComparison with MoreSuite {
  import testImplicits._

  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.STATE_STORE_PROVIDER_CLASS.key, classOf[RocksDBStateStoreProvider].getName)

  for (mode <- Seq("append", "update"))
    sameAsStock("windows with RocksDB state", mode)(_.groupBy(window($"t", "10 minutes"), $"id").count())

  for (merging <- Seq("true", "false"))
    sameAsStock(
      s"session windows with RocksDB state and merging before the shuffle set to $merging",
      conf = Seq(SQLConf.STREAMING_SESSION_WINDOW_MERGE_SESSIONS_IN_LOCAL_PARTITION.key -> merging))(
      _.groupBy(session_window($"t", "3 minutes"), $"id").agg(count("*"), max("t")))

  sameAsStock("deduplication by event time with RocksDB state")(_.dropDuplicates("id", "t"))

  sameAsStock("deduplication within the watermark with RocksDB state")(_.dropDuplicatesWithinWatermark("id"))

  // Few rows, so that ids fall silent.
  private val sparse = wandering(8, steps = 8, rows = 3)
  private val silent = Seq("row", "silent")

  private def groups(df: DataFrame) = df.as[(Int, Timestamp)].groupByKey(_._1)

  sameAsStock("flatMapGroupsWithState with RocksDB state", history = sparse, saying = silent)(
    groups(_).flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.EventTimeTimeout)(countedUntil).toDF())

  for ((mode, out) <- Seq("append" -> OutputMode.Append, "update" -> OutputMode.Update))
    sameAsStock("transformWithState with event-time timers", mode, sparse, saying = silent)(
      groups(_).transformWithState(new CountedUntil, TimeMode.EventTime(), out).toDF())

  sameAsStock("transformWithState with initial state", history = sparse, saying = Seq("[7,silent,1"))(
    groups(_).transformWithState(
      new CountedUntil,
      TimeMode.EventTime(),
      OutputMode.Append,
      Seq(1, 7).map(_ -> Timestamp.from(Noon)).toDS().groupByKey(_._1)).toDF())

  sameAsStock("windows of the event time that transformWithState emits", history = sparse)(
    groups(_).transformWithState(new CountedUntil, "until", OutputMode.Append)
      .groupBy(window($"until", "10 minutes"), $"what")
      .agg(sum("rows")))
}
