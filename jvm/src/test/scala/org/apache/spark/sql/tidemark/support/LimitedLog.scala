package org.apache.spark.sql.tidemark.support

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
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
class LimitedLog extends MicroBatchProvider(LimitedTable)

private object LimitedTable extends MicroBatchTable("limited log", "device STRING, time TIMESTAMP") {
  override protected def stream(options: CaseInsensitiveStringMap): MicroBatchStream =
    new LimitedStream(options.getInt("files", Int.MaxValue), options.get("shows"))
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
    Array(RowsInMemory(LimitedLog.slice(at(start), at(end)).map { case (device, millis) =>
      InternalRow(UTF8String.fromString(device), millis * 1000L)
    }))
  override def createReaderFactory(): PartitionReaderFactory = RowsInMemory
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()

  private def at(offset: Offset): Int = offset.asInstanceOf[LimitedOffset].at
}
