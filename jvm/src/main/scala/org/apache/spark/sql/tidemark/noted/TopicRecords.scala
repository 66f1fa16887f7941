package org.apache.spark.sql.tidemark.noted

import java.io.IOException

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import io.tidemark.core.EventTimeUnits

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.TaskContext
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.util.Utils

/** The records of a topic, read on the driver, each once.
  *
  * Records of open and aborted transactions are left out if `open` says so, and so is what is behind an open one.
  *
  * @param open Spark's Kafka source for the topic
  */
private[noted] final class TopicRecords(topic: String, open: => KafkaSource.Stream) extends AutoCloseable {
  import TopicRecords._

  // The connector finds its own classes by this. It may not be the loader of the thread that reads.
  private val loader = Thread.currentThread.getContextClassLoader
  private var opened = Option.empty[KafkaSource.Stream]
  private var reached = Option.empty[Offset]
  private var firstOffsets = Map.empty[Int, Long]
  private var isCut = false

  /** Whether a partition did not begin at offset 0 when it was read from its beginning. */
  def beginsLater: Boolean = isCut

  /** Gives the records up to the ends that the topic has now.
    * @param begins called first if all records come again, because the topic was deleted and created again
    * @throws java.io.IOException if they cannot be read. Records that were given may come again then
    */
  def news(begins: () => Unit)(record: Record => Unit): Unit =
    try Utils.withContextClassLoader(loader)(read(begins, record))
    catch { case NonFatal(e) => throw new IOException(s"topic $topic could not be read", e) }

  private def read(begins: () => Unit, record: Record => Unit): Unit = {
    val stream = opened.getOrElse(open)
    opened = Some(stream)
    val nothing = stream.deserializeOffset("{}")
    val ends = stream.latestOffset(nothing, ReadLimit.allAvailable())
    if (ends == null) throw new IOException("it has no partitions")
    val before = reached.filter(isBefore(_, ends))
    if (before.isEmpty) {
      begins()
      firstOffsets = Map.empty
    }
    val start = before.getOrElse(nothing)
    val readers = stream.createReaderFactory()
    // The connector asks for the task's properties, and there is no task on the driver.
    TaskContext.setTaskContext(TaskContext.empty())
    try stream.planInputPartitions(start, ends).foreach { part =>
        Using.resource(readers.createReader(part)) { reader =>
          while (reader.next()) {
            val row = reader.get()
            def bytes(at: Int) = Option.when(!row.isNullAt(at))(row.getBinary(at))
            val byBroker = Option.when(row.getInt(6) == LogAppendTime)(EventTimeUnits.millis(row.getLong(5)))
            val found = Record(bytes(0), bytes(1), row.getInt(3), row.getLong(4), byBroker)
            if (before.isEmpty && !firstOffsets.contains(found.partition))
              firstOffsets += found.partition -> found.offset
            record(found)
          }
        }
      }
    finally TaskContext.unset()
    if (before.isEmpty) isCut = endsOf(ends).exists { case (at, end) => firstOffsets.getOrElse(at, end) > 0 }
    reached = Some(ends)
  }

  override def close(): Unit = {
    opened.foreach(_.stop())
    opened = None
  }
}

private[noted] object TopicRecords {

  /** @param offset its offset in the partition
    * @param appendedMillis when it was appended, by the broker's clock; `None` in a topic whose records have the clocks of
    *   their producers
    */
  final case class Record(
      key: Option[Array[Byte]],
      value: Option[Array[Byte]],
      partition: Int,
      offset: Long,
      appendedMillis: Option[Long])

  // As in Kafka's TimestampType.
  private val LogAppendTime = 1

  private val mapper = new ObjectMapper

  /** The ends of the partitions of the only topic. */
  private def endsOf(ends: Offset): Map[Int, Long] =
    mapper.readTree(ends.json).elements.asScala.flatMap(_.properties.asScala)
      .map(partition => partition.getKey.toInt -> partition.getValue.asLong).toMap

  /** Whether no partition has gone back, and none is gone. */
  private def isBefore(earlier: Offset, later: Offset): Boolean = {
    val before = mapper.readTree(earlier.json)
    val now = mapper.readTree(later.json)
    before.properties.stream.allMatch { topic =>
      topic.getValue.properties.stream.allMatch { at =>
        now.path(topic.getKey).path(at.getKey).asLong(-1L) >= at.getValue.asLong
      }
    }
  }
}
