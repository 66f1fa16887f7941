package org.apache.spark.sql.tidemark.columns

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.connector.read.streaming.Offset

/** What Spark's Kafka source says of its partitions. The connector is not part of Spark's core, so its classes are recognized
  * by name, and its offsets are read as text.
  */
private[tidemark] object KafkaOffsets {
  private val mapper = new ObjectMapper

  /** A partition of a Kafka topic. */
  final case class Partition(topic: String, number: String)

  def isKafka(sourceOrSink: AnyRef): Boolean =
    sourceOrSink.getClass.getName.startsWith("org.apache.spark.sql.kafka010.")

  def byTopic(offsets: Map[Partition, Long]): Map[String, Map[Int, Long]] =
    offsets.toSeq.groupMap(_._1.topic) { case (at, offset) => at.number.toInt -> offset }.map {
      case (topic, partitions) => topic -> partitions.toMap
    }

  /** Kafka's offsets: `{"topic": {"0": 23, "1": 42}}`. */
  def offsetsOf(offset: Offset): Map[Partition, Long] = {
    val topics = mapper.readTree(offset.json)
    topics.fieldNames().asScala.flatMap { topic =>
      topics.get(topic).fieldNames().asScala.map(n => Partition(topic, n) -> topics.get(topic).get(n).asLong)
    }.toMap
  }

  /** How many partitions have rows between two offsets. A partition that is new begins with its first row. */
  def partitionsRead(start: Offset, end: Offset): Int = {
    val begins = offsetsOf(start)
    offsetsOf(end).count { case (partition, until) => begins.getOrElse(partition, 0L) < until }
  }
}
