package org.apache.spark.sql.tidemark

import io.tidemark.TidemarkException

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.kafka010.PartitionedLog

/** What is known of the order in which the tasks of a source have read it: partitions of Kafka. */
class SourceLanesSuite extends OrderTest {
  import testImplicits._

  private val InPart = "each group as each task has read them from the source, lost in part at "

  private def explainedOf(query: DataFrame)(add: => Unit): Seq[String] = {
    var said = Seq.empty[String]
    add
    testStream(query)(
      StartStream(),
      ProcessAllAvailable(),
      Execute(query => said = explained(query)),
      StopStream)
    said
  }

  /** Two partitions of Kafka, each with ten rows, of which a batch reads four. */
  private def topic: DataFrame = {
    val rows = spark.readStream.format(classOf[PartitionedLog].getName).option("limit", 4)
    rows.load().select($"partition", $"time")
  }

  private def ofKafka(partitions: Int)(query: DataFrame => DataFrame): String = {
    PartitionedLog.begin(partitions)
    val said = withOrderAsked(explainedOf(query(topic)) {
      for (partition <- 0 until partitions)
        PartitionedLog.add(partition, (0 until 10).map(n => millis("10:00") + n * 1000L): _*)
    })
    assert(said.size === 1)
    said.head
  }

  private def withOrderAsked(body: => Seq[String]): Seq[String] = {
    var said = Seq.empty[String]
    withSQLConf("spark.tidemark.order" -> "keep") { said = body }
    said
  }

  test("rows of one partition of Kafka are in its order, and those of several partitions have none among each other") {
    assert(ofKafka(partitions = 1)(_.dropDuplicates("time")) === "each group in the order of the source")
    assert(ofKafka(partitions = 2)(_.dropDuplicates("time")) ===
      InPart + "Kafka: its 2 partitions have no order among each other")
    val renamed = ofKafka(partitions = 2) { df =>
      df.select($"partition".as("from"), $"time").dropDuplicates("from", "time")
    }
    assert(renamed === "each group in the order of the source")
    assert(ofKafka(partitions = 2)(_.select($"time").dropDuplicates("time")).startsWith(InPart))
  }

  test("with requireOrder, groups of several partitions of Kafka are refused, and groups of one are not") {
    def run(keys: String*): Option[String] = {
      var refused = Option.empty[String]
      PartitionedLog.begin(2)
      PartitionedLog.add(0, millis("10:00"))
      PartitionedLog.add(1, millis("10:00"))
      withSQLConf("spark.tidemark.requireOrder" -> "true") {
        val query = topic.dropDuplicates(keys)
        try testStream(query)(StartStream(), ProcessAllAvailable(), StopStream)
        catch {
          case e: Throwable =>
            refused = causes(e).collectFirst { case it: TidemarkException => it.getMessage }.orElse(throw e)
        }
      }
      refused
    }
    assert(run("partition", "time") === None)
    assert(run("time").exists(_.contains("lost at Kafka: its 2 partitions have no order among each other")))
  }
}
