package org.apache.spark.sql.tidemark.columns

import io.tidemark.{Idle, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.tidemark.support.MarkedColumns
import org.apache.spark.sql.types.{MetadataBuilder, StructType}

/** Options of a watermark are those of its own plan: they are not written into tables, and not read from there. */
class OptionsInTablesSuite extends MarkedColumns {
  import testImplicits._

  test("a streaming or batch query writes no watermark options into a table") {
    withTempDir { folder =>
      val (events, df) = keyedRows("k", "t")
      val options = WatermarkOptions(key = Some("mine"), idle = Idle("1 hour"), maxAhead = Some("1 hour"))
      val query = withWatermark(df, "t", "0 seconds", options).writeStream
        .format("parquet")
        .option("checkpointLocation", s"$folder/checkpoint")
        .start(s"$folder/out")
      events.addData(1 -> at("10:00"))
      try query.processAllAvailable()
      finally query.stop()
      val batch = withWatermark(Seq(1 -> at("10:00")).toDF("k", "t"), "t", "0 seconds", options)
      batch.write.parquet(s"$folder/batch")
      for (of <- Seq("out", "batch"))
        assert(!EventTimeOptions.areIn(spark.read.parquet(s"$folder/$of").schema("t").metadata), of)
    }
  }

  test("a plain watermark ignores the options of another query that are in the table's schema") {
    val left = new MetadataBuilder()
      .putString(EventTimeOptions.KeyMetadata, "other")
      .putString(EventTimeOptions.Metadata, """{"idleAfter": "1 hour", "maxAhead": "1 hour"}""")
      .build()
    val schema = new StructType().add("t", "timestamp", nullable = true, left)
    withTempDir { folder =>
      val table = spark.readStream.schema(schema).parquet(folder.getCanonicalPath)
      def origins(df: DataFrame) = OriginsOfPlan.of(df.queryExecution.analyzed, spark.sessionState.conf)
      def keys(df: DataFrame) = origins(df).names.map(_.key)
      assert(table.schema("t").metadata === left)
      assert(keys(table.withWatermark("t", "0 seconds")) === Seq("t"))
      assert(origins(table.withWatermark("t", "0 seconds")).all.map(_.needsTidemark) === Seq(None))
      assert(keys(table.select($"t".as("u")).withWatermark("u", "0 seconds")) === Seq("u"))
      val own = withWatermark(table, "t", "0 seconds", WatermarkOptions(key = Some("mine")))
      assert(keys(own) === Seq("mine"))
      own.createOrReplaceTempView("own")
      assert(keys(spark.sql("WITH o AS (SELECT *, rand() FROM own) SELECT * FROM o")) === Seq("mine"))
    }
  }
}
