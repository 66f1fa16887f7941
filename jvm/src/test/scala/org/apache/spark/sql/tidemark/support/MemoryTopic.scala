package org.apache.spark.sql.tidemark.support

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.unsafe.types.UTF8String

/** A topic `t` in memory, which Spark's Kafka source could be reading. */
final class MemoryTopic(partitions: Int) {
  import MemoryTopic._

  private var records = Vector.fill(partitions)(ArrayBuffer.empty[Record])

  /** How many records were served to readers. */
  var served = 0

  /** The brokers' clock. */
  var appendedMillis = 0L

  /** Why the brokers do not answer. */
  var problem = Option.empty[String]

  def put(partition: Int, key: Array[Byte], value: Array[Byte]): Unit = records(partition) += ((key, value))

  def put(partition: Int, stream: String, writer: String, value: String): Unit =
    put(partition, s"$stream\u0000$writer".getBytes, value.getBytes)

  /** The topic is deleted and created again. */
  def empty(): Unit = {
    records = Vector.fill(partitions)(ArrayBuffer.empty[Record])
    begins = Map.empty
  }

  private var begins = Map.empty[Int, Long]

  /** Retention removes the records of a partition before an offset. */
  def remove(partition: Int, before: Long): Unit = begins += partition -> before

  def stream: MicroBatchStream with SupportsAdmissionControl = new MicroBatchStream with SupportsAdmissionControl {
    override def initialOffset(): Offset = throw new IllegalStateException("it would be written into a checkpoint")
    override def latestOffset(): Offset = throw new UnsupportedOperationException
    override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
      problem.foreach(why => throw new IllegalStateException(why))
      At(records.map(_.size.toLong).zipWithIndex.map(_.swap).toMap)
    }
    override def deserializeOffset(json: String): Offset = at(json)
    override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
      at(end.json).ends.toArray.sorted.map { case (partition, until) =>
        Part(partition, at(start.json).ends.getOrElse(partition, 0L), until)
      }
    override def createReaderFactory(): PartitionReaderFactory = {
      case Part(partition, from, until) => new PartitionReader[InternalRow] {
          private var offset = math.max(from, begins.getOrElse(partition, 0L)) - 1
          override def next(): Boolean = { offset += 1; offset < until }
          override def get(): InternalRow = {
            served += 1
            val (key, value) = records(partition)(offset.toInt)
            InternalRow(key, value, UTF8String.fromString("t"), partition, offset, appendedMillis * 1000L, 1)
          }
          override def close(): Unit = ()
        }
      case other => throw new IllegalArgumentException(s"$other")
    }
    override def commit(end: Offset): Unit = throw new IllegalStateException("nothing is committed")
    override def stop(): Unit = ()
  }
}

private object MemoryTopic {
  type Record = (Array[Byte], Array[Byte])

  private final case class Part(partition: Int, from: Long, until: Long) extends InputPartition

  private final case class At(ends: Map[Int, Long]) extends Offset {
    override def json: String = ends.map { case (p, n) => s""""$p":$n""" }.mkString("""{"t":{""", ",", "}}")
  }

  private def at(json: String): At =
    At(Option(new ObjectMapper().readTree(json).get("t")).toSeq.flatMap(_.properties.asScala).map { entry =>
      entry.getKey.toInt -> entry.getValue.asLong
    }.toMap)
}
