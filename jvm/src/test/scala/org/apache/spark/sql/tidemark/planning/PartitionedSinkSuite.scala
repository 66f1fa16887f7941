package org.apache.spark.sql.tidemark.planning

import scala.concurrent.Future

import io.tidemark.{AsyncOptions, OrderOptions}
import io.tidemark.functions.{inOrder, mapAsync, noteTime}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.OrderTest
import org.apache.spark.sql.types.IntegerType

/** A file sink that is partitioned sorts its rows, and Spark sends the whole plan to the tasks with that sort. */
class PartitionedSinkSuite extends OrderTest {
  import testImplicits._

  private def called(df: DataFrame) =
    mapAsync(df, "same", Seq($"id"), IntegerType, AsyncOptions())(row => Future.successful(row.getInt(0)))

  private val queries = Seq[(String, DataFrame => DataFrame)](
    "a deduplication" -> (_.dropDuplicates("id", "t")),
    "windows" -> (df => df.groupBy(window($"t", "1 minute"), $"id").count().drop("window")),
    "an order" -> (inOrder(_, "t", OrderOptions(by = Seq($"id")))),
    "a function with state" -> counted,
    "a note of the time" -> (df => noteTime(df.dropDuplicates("id", "t"), "t")),
    "calls" -> (df => called(df.dropDuplicates("id", "t"))),
    "a join of two streams" -> { df =>
      val other = df.select($"id".as("other"), $"t".as("at"))
      df.join(other, expr("id = other AND at BETWEEN t - INTERVAL 1 MINUTE AND t + INTERVAL 1 MINUTE")).drop("at")
    })

  for ((name, query) <- queries)
    test(s"$name writes to a partitioned sink") {
      withTempDir { folder =>
        val (stream, df) = timed("t", "1 minute")
        val started = query(df)
          .withColumn("part", $"id" % 2)
          .writeStream
          .format("parquet")
          .partitionBy("part")
          .option("checkpointLocation", s"$folder/checkpoint")
          .start(s"$folder/out")
        try {
          stream.addData(1 -> at("10:00"), 2 -> at("10:00"))
          started.processAllAvailable()
          stream.addData(1 -> at("11:00"))
          started.processAllAvailable()
          assert(spark.read.parquet(s"$folder/out").select("id").distinct().count() >= 2)
        } finally started.stop()
      }
    }
}
