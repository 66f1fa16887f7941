package org.apache.spark.sql.tidemark.support

import java.util.{EnumSet, Map => JMap, Set => JSet}

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** Files in memory, of one row each, for a Data Source V2. Tests with a manual clock use it. */
object LimitedLog {
  private var rows = Vector.empty[(String, Long)]

  def begin(): Unit = synchronized { rows = Vector.empty }
  def add(device: String, millis: Long): Unit = synchronized { rows = rows :+ (device -> millis) }
  def size: Int = synchronized { rows.size }
  def slice(from: Int, until: Int): Seq[(String, Long)] = synchronized { rows.slice(from, until) }
}

/** The format; `spark.readStream.format` takes the name of its class. The option `files` limits the files of a batch.
  * The option `shows` sets what it reports as its latest offset: "nothing", an offset whose JSON has "other words", or
  * an offset that can be "compared".
  */
class LimitedLog extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = LimitedTable.struct
  override def getTable(schema: StructType, by: Array[Transform], properties: JMap[String, String]): Table =
    LimitedTable
}

private object LimitedTable extends Table with SupportsRead {
  val struct: StructType = StructType.fromDDL("device STRING, time TIMESTAMP")
  override def name: String = "limited log"
  override def schema: StructType = struct
  override def capabilities: JSet[TableCapability] = EnumSet.of(TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema: StructType = struct
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
        new LimitedStream(options.getInt("files", Int.MaxValue), options.get("shows"))
    }
}

private sealed abstract class LimitedOffset(val at: Int, words: String) extends Offset {
  override def json: String = s"""{"at": $at, "words": "$words"}"""
}
private final class PlainOffset(at: Int, words: String) extends LimitedOffset(at, words)
private final class ComparedOffset(at: Int, words: String)
    extends LimitedOffset(at, words)
    with Comparable[ComparedOffset] {
  override def compareTo(that: ComparedOffset): Int = at.compareTo(that.at)
}

private final class LimitedStream(files: Int, shows: String)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow {
  private var available = Option.empty[Int]

  override def prepareForTriggerAvailableNow(): Unit = available = Some(LimitedLog.size)

  private def offset(at: Int, words: String) =
    if (shows == "compared") new ComparedOffset(at, words) else new PlainOffset(at, words)

  override def initialOffset(): Offset = offset(0, "own")
  override def latestOffset(): Offset = throw new UnsupportedOperationException
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val from = at(start)
    offset(from + math.min(files, available.getOrElse(LimitedLog.size) - from), "own")
  }
  override def reportLatestOffset(): Offset = if (shows == "nothing") null else offset(LimitedLog.size, "others")
  override def getDefaultReadLimit: ReadLimit =
    if (files == Int.MaxValue) ReadLimit.allAvailable else ReadLimit.maxFiles(files)
  override def deserializeOffset(json: String): Offset =
    offset(new ObjectMapper().readTree(json).get("at").asInt, "own")

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    Array(LimitedRows(LimitedLog.slice(at(start), at(end))))
  override def createReaderFactory(): PartitionReaderFactory = LimitedReaders
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()

  private def at(offset: Offset): Int = offset.asInstanceOf[LimitedOffset].at
}

private final case class LimitedRows(rows: Seq[(String, Long)]) extends InputPartition

private object LimitedReaders extends PartitionReaderFactory {
  override def createReader(of: InputPartition): PartitionReader[InternalRow] = {
    val LimitedRows(rows) = of: @unchecked
    val all = rows.iterator
    new PartitionReader[InternalRow] {
      override def next(): Boolean = all.hasNext
      override def get(): InternalRow = {
        val (device, millis) = all.next()
        InternalRow(UTF8String.fromString(device), millis * 1000L)
      }
      override def close(): Unit = ()
    }
  }
}
