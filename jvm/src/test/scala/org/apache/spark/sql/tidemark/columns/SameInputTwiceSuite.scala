package org.apache.spark.sql.tidemark.columns

import java.util.{Map => JMap, Set => JSet}

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.functions.{lit, upper}
import org.apache.spark.sql.kafka010.PartitionedLog
import org.apache.spark.sql.tidemark.support.RefusalsTest
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
    testStream(orders(5).union(orders(6)))(StartStream(), expectRefusal("DUPLICATE_KEY", "key" -> "orders"))
  }

  private val keyed =
    WatermarkOptions(key = Some("x"), splitBy = SplitBy(upper($"id".cast("string"))), idle = Idle("1 hour"))

  test("a watermark that is set twice in the same way on one column is taken once") {
    for (between <- Seq[DataFrame => DataFrame](identity, _.withColumn("n", lit(1)), _.select($"t", $"id")))
      for (options <- Seq(keyed, keyed.copy(splitBy = SplitBy()))) {
        val (stream, df) = bare("t")
        val twice = withWatermark(between(withWatermark(df, "t", "0 seconds", options)), "t", "0 seconds", options)
        testStream(counted(twice, "t").select($"count"))(
          AddData(stream, 1 -> at("10:00"), 1 -> at("10:20")),
          CheckAnswer(1L),
          originsAre("x" -> Some(millis("10:20"))))
      }
  }

  test("a key that is set twice on one column in different ways is refused with what is different") {
    def refused(difference: String)(second: DataFrame => DataFrame): Unit = {
      val (stream, df) = bare("t")
      testStream(counted(second(withWatermark(df, "t", "0 seconds", keyed)), "t").select($"count"))(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal(
          "DUPLICATE_KEY",
          "key" -> "x",
          "column" -> "t",
          "how" -> s"one above the other, with $difference"))
    }
    refused("another delay")(withWatermark(_, "t", "1 minute", keyed))
    refused("another split_by, idle_after")(withWatermark(_, "t", "0 seconds", WatermarkOptions(Some("x"))))
    refused("another split_by")(withWatermark(_, "t", "0 seconds", keyed.copy(splitBy = SplitBy($"id"))))
    refused("other steps between them")(df => withWatermark(df.where($"id" > 0), "t", "0 seconds", keyed))
  }

  test("a key that is set on two copies of one input in different ways is refused with what is different") {
    val (stream, df) = bare("t")
    def copy(options: WatermarkOptions) = counted(withWatermark(df, "t", "0 seconds", options), "t").select($"count")
    testStream(copy(keyed).union(copy(keyed)))(
      AddData(stream, 1 -> at("10:00")),
      ProcessAllAvailable(),
      originsAre("x" -> Some(millis("10:00")), "x#1" -> Some(millis("10:00"))))
    for ((difference, other) <- Seq(
        "idle_after" -> keyed.copy(idle = Idle("2 hours")),
        "forget_after" -> keyed.copy(splitBy = keyed.splitBy.copy(forgetAfter = Some("30 days"))),
        "split_by" -> keyed.copy(splitBy = SplitBy($"id")),
        "split_by, idle_after" -> WatermarkOptions(key = Some("x"))))
      testStream(copy(keyed).union(copy(other)))(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal("DUPLICATE_KEY", "key" -> "x", "column" -> "t", "how" -> s"with another $difference"))
    testStream(copy(keyed).union(counted(
      withWatermark(df.where($"id" > 0), "t", "0 seconds", keyed),
      "t").select($"count")))(
      AddData(stream, 1 -> at("10:00")),
      expectRefusal("DUPLICATE_KEY", "key" -> "x", "columns" -> "t, t"))
  }
}
