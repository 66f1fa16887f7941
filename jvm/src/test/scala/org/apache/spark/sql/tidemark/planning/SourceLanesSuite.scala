package org.apache.spark.sql.tidemark.planning

import java.io.File
import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.kafka010.PartitionedLog
import org.apache.spark.sql.tidemark.support.OrderTest

/** What is known of the order in which the tasks of a source have read it: partitions of Kafka, and files. */
class SourceLanesSuite extends OrderTest {
  import testImplicits._

  private val InPart = "each group as each task has read them from the source, lost in part at "

  private def explainedOf(query: DataFrame)(add: => Unit): Seq[String] = {
    var order = Seq.empty[String]
    add
    testStream(query)(
      StartStream(),
      ProcessAllAvailable(),
      Execute(query => order = explained(query)),
      StopStream)
    order
  }

  /** Two partitions of Kafka, each with ten rows, of which a batch reads four. */
  private def topic(pieces: Int): DataFrame = {
    val rows = spark.readStream.format(classOf[PartitionedLog].getName).option("pieces", pieces).option("limit", 4)
    rows.load().select($"partition", $"time")
  }

  private def ofKafka(partitions: Int, pieces: Int)(query: DataFrame => DataFrame): String = {
    PartitionedLog.begin(partitions)
    val order = withOrderAsked(explainedOf(query(topic(pieces))) {
      for (partition <- 0 until partitions)
        PartitionedLog.add(partition, (0 until 10).map(n => millis("10:00") + n * 1000L): _*)
    })
    assert(order.size === 1)
    order.head
  }

  private def withOrderAsked(body: => Seq[String]): Seq[String] = {
    var order = Seq.empty[String]
    withSQLConf("spark.tidemark.order" -> "keep") { order = body }
    order
  }

  test("rows of one partition of Kafka are in its order, and those of several partitions have none among each other") {
    assert(ofKafka(partitions = 1, pieces = 1)(_.dropDuplicates("time")) === "each group in the order of the source")
    assert(ofKafka(partitions = 2, pieces = 1)(_.dropDuplicates("time")) ===
      InPart + "Kafka: its 2 partitions have no order among each other")
    val renamed = ofKafka(partitions = 2, pieces = 1) { df =>
      df.select($"partition".as("from"), $"time").dropDuplicates("from", "time")
    }
    assert(renamed === "each group in the order of the source")
    assert(ofKafka(partitions = 2, pieces = 1)(_.select($"time").dropDuplicates("time")).startsWith(InPart))
  }

  test("a partition of Kafka that is cut into several tasks is in no order") {
    val cut =
      "Kafka: several tasks read one partition, because of an option such as minPartitions or maxRecordsPerPartition"
    assert(ofKafka(partitions = 1, pieces = 2)(_.dropDuplicates("time")) === InPart + cut)
    assert(ofKafka(partitions = 2, pieces = 2)(_.dropDuplicates("partition")) === InPart + cut)
  }

  test("with requireOrder, groups of several partitions of Kafka are refused, and groups of one are not") {
    def run(keys: String*): Unit = {
      PartitionedLog.begin(2)
      PartitionedLog.add(0, millis("10:00"))
      PartitionedLog.add(1, millis("10:00"))
      withSQLConf("spark.tidemark.requireOrder" -> "true") {
        testStream(topic(pieces = 1).dropDuplicates(keys))(StartStream(), ProcessAllAvailable(), StopStream)
      }
    }
    run("partition", "time")
    assertRefused(
      "ORDER_LOST",
      "at" -> "Kafka",
      "why" -> "its 2 partitions have no order among each other")(run("time"))
  }

  private def write(folder: File, name: String, rows: Int): Unit = {
    val lines = (0 until rows).map(n => s"""{"id": ${n % 4}, "n": $n}""")
    Files.writeString(new File(folder, name).toPath, lines.mkString("\n"))
    ()
  }

  private def ofFiles(counts: Int*): String = {
    var order = Seq.empty[String]
    withTempDir { folder =>
      val rows = spark.readStream.schema("id INT, n INT").json(folder.getCanonicalPath)
      order = withOrderAsked(explainedOf(rows.dropDuplicates("id")) {
        counts.zipWithIndex.foreach { case (rows, at) => write(folder, s"$at.json", rows) }
      })
    }
    assert(order.size === 1)
    order.head
  }

  test("rows of one file are in its order, and those of several files have none among each other") {
    assert(ofFiles(200) === "each group in the order of the source")
    assert(ofFiles(20, 200) === InPart + "files: the 2 files of a batch have no order among each other")
  }

  test("a large file that Spark splits is in no order") {
    withSQLConf(SQLConf.FILES_MAX_PARTITION_BYTES.key -> "1000", SQLConf.FILES_OPEN_COST_IN_BYTES.key -> "0") {
      val order = ofFiles(200)
      assert(order.startsWith(InPart + "files: several tasks read a file of "))
      assert(order.endsWith("which Spark splits after 1000.0 B"))
    }
  }
}
