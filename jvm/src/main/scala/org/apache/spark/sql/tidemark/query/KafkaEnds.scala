package org.apache.spark.sql.tidemark.query

import java.io.IOException

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.tidemark.core.noted.Position

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The ends of all partitions of some topics, as Spark's own Kafka source finds them. So the connector's classes are needed
  * only where they are used.
  *
  * @param topics names with commas between
  * @param options those of the sink, with names in lower case
  */
private[tidemark] final class KafkaEnds(session: SparkSession, topics: String, options: Map[String, String]) {
  import KafkaEnds._

  private var opened = Option.empty[MicroBatchStream with SupportsAdmissionControl]

  private def stream: MicroBatchStream with SupportsAdmissionControl = opened.getOrElse {
    val found = open()
    opened = Some(found)
    found
  }

  private def open(): MicroBatchStream with SupportsAdmissionControl = {
    val reading = options.filter { case (name, _) => name.startsWith("kafka.") && !ofProducers(name) } +
      ("subscribe" -> topics)
    val map = new CaseInsensitiveStringMap(reading.asJava)
    val provider = DataSource.lookupDataSource("kafka", session.sessionState.conf)
      .getConstructor().newInstance().asInstanceOf[TableProvider]
    val table = provider.getTable(provider.inferSchema(map), Array.empty[Transform], map.asCaseSensitiveMap)
    // It keeps nothing in this folder until it is asked for its first offsets.
    table.asInstanceOf[SupportsRead].newScanBuilder(map).build().toMicroBatchStream("unused")
      .asInstanceOf[MicroBatchStream with SupportsAdmissionControl]
  }

  /** @throws java.io.IOException if the brokers cannot be asked, or a topic has no partition */
  def latest: Position.Partitions = {
    val ends =
      try {
        val source = stream
        source.latestOffset(source.deserializeOffset("{}"), ReadLimit.allAvailable())
      } catch { case NonFatal(e) => throw new IOException(s"the ends of the topics $topics are not known", e) }
    if (ends == null) throw new IOException(s"the topics $topics have no partitions")
    Position.Partitions(ReadPositions.byTopic(ReadPositions.offsetsOf(ends)))
  }

  def close(): Unit = {
    opened.foreach(_.stop())
    opened = None
  }
}

private object KafkaEnds {
  // The source refuses or does not know them.
  private val ofProducers = Set("kafka.interceptor.classes", "kafka.transactional.id", "kafka.acks")
}
