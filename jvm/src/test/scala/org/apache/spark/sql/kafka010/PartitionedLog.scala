package org.apache.spark.sql.kafka010

import scala.collection.immutable.TreeMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.tidemark.support.{MicroBatchProvider, MicroBatchTable, RowsInMemory}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** A topic in memory that looks to Spark as Kafka's do: in its package, with its columns and its offsets, and with an
  * admission limit for each partition. For tests in which the clock is the test's own; a real broker is in the examples.
  */
object PartitionedLog {
  private var rows = TreeMap.empty[Int, Vector[Long]]

  /** Starts again with so many empty partitions of the one topic `t`. */
  def begin(partitions: Int): Unit = synchronized { rows = TreeMap.from((0 until partitions).map(_ -> Vector.empty)) }

  /** Puts rows with these event times (ms) at the end of a partition, which exists from now on. */
  def add(partition: Int, times: Long*): Unit =
    synchronized { rows = rows.updated(partition, rows.getOrElse(partition, Vector.empty) ++ times) }

  def ends: TreeMap[Int, Long] = synchronized { rows.map { case (partition, all) => partition -> all.size.toLong } }
  def slice(partition: Int, from: Long, until: Long): Seq[Long] =
    synchronized { rows(partition).slice(from.toInt, until.toInt) }
}

/** The format: its class is what `spark.readStream.format` is given. Option `limit`: rows of each partition per batch. Option
  * `pieces`: into how many tasks the rows of a partition are cut, as Kafka's `minPartitions` does.
  */
class PartitionedLog extends MicroBatchProvider(PartitionedTable)

private object PartitionedTable
    extends MicroBatchTable("partitioned log", "topic STRING, partition INT, time TIMESTAMP") {
  override protected def stream(options: CaseInsensitiveStringMap): MicroBatchStream =
    new PartitionedStream(options.getLong("limit", Long.MaxValue), options.getInt("pieces", 1))
}

private final case class PartitionedOffset(ends: TreeMap[Int, Long]) extends Offset {
  override def json: String = ends.map { case (p, n) => s""""$p":$n""" }.mkString("""{"t":{""", ",", "}}")
}

private final class PartitionedStream(limit: Long, pieces: Int) extends MicroBatchStream with SupportsAdmissionControl {
  override def initialOffset(): Offset = PartitionedOffset(TreeMap.empty)
  override def latestOffset(): Offset = reportLatestOffset()
  override def reportLatestOffset(): Offset = PartitionedOffset(PartitionedLog.ends)
  override def getDefaultReadLimit: ReadLimit =
    if (limit == Long.MaxValue) ReadLimit.allAvailable else ReadLimit.maxRows(limit)

  override def latestOffset(start: Offset, of: ReadLimit): Offset = {
    val begins = deserializeOffset(start.json).ends
    PartitionedOffset(PartitionedLog.ends.map { case (p, end) =>
      val begin = begins.getOrElse(p, 0L)
      p -> (begin + math.min(end - begin, limit))
    })
  }

  override def deserializeOffset(json: String): PartitionedOffset = {
    val ends = Option(new ObjectMapper().readTree(json).get("t")).toSeq.flatMap(_.properties().asScala)
    PartitionedOffset(TreeMap.from(ends.map(e => e.getKey.toInt -> e.getValue.asLong)))
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val begins = deserializeOffset(start.json).ends
    // A partition without new rows has no task.
    deserializeOffset(end.json).ends.toArray.flatMap { case (p, until) =>
      val rows = PartitionedLog.slice(p, begins.getOrElse(p, 0L), until)
      rows.grouped(math.max((rows.size + pieces - 1) / pieces, 1)).map { times =>
        RowsInMemory(times.map(time => InternalRow(UTF8String.fromString("t"), p, time * 1000L)))
      }
    }
  }

  override def createReaderFactory(): PartitionReaderFactory = RowsInMemory
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
}
