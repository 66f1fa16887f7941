package org.apache.spark.sql.tidemark

import java.util.{Map => JMap, Set => JSet}

import io.tidemark.WatermarkOptions
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.kafka010.PartitionedLog
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A topic whose table is another object each time it is loaded, as Kafka's is. */
class FreshLog extends PartitionedLog {
  override def getTable(schema: StructType, by: Array[Transform], properties: JMap[String, String]): Table = {
    val same = super.getTable(schema, by, properties).asInstanceOf[Table with SupportsRead]
    new Table with SupportsRead {
      override def name: String = same.name
      override def schema: StructType = schemaOf
      override def capabilities: JSet[TableCapability] = same.capabilities
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = same.newScanBuilder(options)
      private def schemaOf = same.columns.foldLeft(new StructType)((all, c) => all.add(c.name, c.dataType, c.nullable))
    }
  }
}

/** One key on an input that is analyzed twice, as Spark Connect does wherever a DataFrame is used. */
class SameInputTwiceSuite extends RefusalsTest {
  import testImplicits._

  private def orders(limit: Int): DataFrame = {
    val topic = spark.readStream.format(classOf[FreshLog].getName).option("limit", limit.toLong).load()
    counted(withWatermark(topic, "time", "0 seconds", WatermarkOptions(key = Some("orders"))), "time").select($"count")
  }

  test("a topic that is loaded twice with the same key and options counts as one input") {
    PartitionedLog.begin(partitions = 1)
    PartitionedLog.add(0, millis("10:00"))
    testStream(orders(5).union(orders(5)))(
      StartStream(),
      ProcessAllAvailable(),
      originsAre("orders" -> Some(millis("10:00")), "orders#1" -> Some(millis("10:00"))))
  }

  test("a topic that is loaded twice with the same key and different options is refused as two inputs") {
    PartitionedLog.begin(partitions = 1)
    PartitionedLog.add(0, millis("10:00"))
    testStream(orders(5).union(orders(6)))(StartStream(), refusal("DUPLICATE_KEY", "'orders'", "2 watermarks"))
  }
}
