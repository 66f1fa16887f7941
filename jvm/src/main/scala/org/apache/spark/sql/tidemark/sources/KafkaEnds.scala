package org.apache.spark.sql.tidemark.sources

import java.io.IOException

import scala.util.control.NonFatal

import io.tidemark.core.noted.Position

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.tidemark.columns.KafkaOffsets
import org.apache.spark.sql.tidemark.noted.KafkaSource

/** The ends of all partitions of some topics, as Spark's own Kafka source finds them. So the connector's classes are needed
  * only where they are used.
  *
  * @param topics names with commas between
  * @param options those of the sink, with names in lower case
  */
private[tidemark] final class KafkaEnds(session: SparkSession, topics: String, options: Map[String, String]) {
  import KafkaEnds._

  private var opened = Option.empty[KafkaSource.Stream]

  private def stream: KafkaSource.Stream = opened.getOrElse {
    val found = open()
    opened = Some(found)
    found
  }

  private def open(): KafkaSource.Stream = KafkaSource.open(
    session,
    topics,
    options.filter { case (name, _) => name.startsWith("kafka.") && !ofProducers(name) } ++ AllRows)

  /** @throws java.io.IOException if the brokers cannot be asked, or a topic has no partition */
  def latest: Position.Kafka = {
    val ends =
      try {
        val source = stream
        source.latestOffset(source.deserializeOffset("{}"), ReadLimit.allAvailable())
      } catch { case NonFatal(e) => throw new IOException(s"the ends of the topics $topics are not known", e) }
    if (ends == null) throw new IOException(s"the topics $topics have no partitions")
    Position.Kafka(KafkaOffsets.byTopic(KafkaOffsets.offsetsOf(ends)))
  }

  def close(): Unit = {
    opened.foreach(_.stop())
    opened = None
  }
}

private object KafkaEnds {
  // The source refuses or does not know them.
  private val ofProducers = Set("kafka.interceptor.classes", "kafka.transactional.id", "kafka.acks")

  // Rows that another producer's open transaction still hides from committed readers are not behind the ends.
  private val AllRows = Map("kafka.isolation.level" -> "read_uncommitted")
}
