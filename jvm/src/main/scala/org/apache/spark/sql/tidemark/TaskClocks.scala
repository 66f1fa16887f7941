package org.apache.spark.sql.tidemark

import java.util.Arrays

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{SplitNames, SplitTimes}

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods

/** The largest event time of each split, in one task.
  *
  * A row costs a look into a hash table of open addressing, with the key's bytes in one array; rows of one split that
  * follow each other cost a comparison. Only when the task ends do keys become names. Not thread-safe, as a task is not.
  */
private[tidemark] final class TaskClocks(factory: TaskClocks.Factory) {
  import TaskClocks._

  private var table = new Array[Int](64)
  private var hashes = new Array[Int](32)
  private var ends = new Array[Int](32)
  private var largest = new Array[Long](32)
  private var bytes = new Array[Byte](1024)
  private var count = 0
  private var last = -1

  private var whole = Long.MinValue
  private var hasWhole = false
  private var farAhead = 0L
  private val latest = factory.limits.latestMillis

  /** Whether an event time may move a clock; one that may not is counted. */
  def believes(millis: Long): Boolean = {
    val near = millis <= latest
    if (!near) farAhead += 1
    near
  }

  /** A row of an input that is not split. */
  def note(millis: Long): Unit = {
    hasWhole = true
    if (millis > whole) whole = millis
  }

  /** A row of the split that `key` decides. */
  def note(key: UnsafeRow, millis: Long): Unit = {
    if (last < 0 || !isAt(last, key)) last = find(key)
    if (millis > largest(last)) largest(last) = millis
  }

  private def find(key: UnsafeRow): Int = {
    val hash = key.hashCode
    val mask = table.length - 1
    var at = hash & mask
    while (table(at) > 0) {
      val found = table(at) - 1
      if (hashes(found) == hash && isAt(found, key)) return found
      at = (at + 1) & mask
    }
    add(key, hash, at)
  }

  private def add(key: UnsafeRow, hash: Int, at: Int): Int = {
    val (from, size) = (start(count), key.getSizeInBytes)
    if (from.toLong + size > MostBytes) throw new TidemarkException(TidemarkError.splitNamesTooLong(factory.column))
    if (count >= factory.limits.maxSplits)
      throw new TidemarkException(TidemarkError.tooManySplits(factory.column, count + 1, factory.limits.maxSplits))
    if (from + size > bytes.length)
      bytes = Arrays.copyOf(bytes, math.max(from + size, math.min(bytes.length * 2L, MostBytes.toLong).toInt))
    if (count == ends.length) {
      hashes = Arrays.copyOf(hashes, count * 2)
      ends = Arrays.copyOf(ends, count * 2)
      largest = Arrays.copyOf(largest, count * 2)
    }
    key.writeToMemory(bytes, (Platform.BYTE_ARRAY_OFFSET + from).toLong)
    ends(count) = from + size
    hashes(count) = hash
    largest(count) = Long.MinValue
    count += 1
    table(at) = count
    if (count * 2 > table.length) rehash()
    count - 1
  }

  private def rehash(): Unit = {
    table = new Array[Int](table.length * 2)
    val mask = table.length - 1
    var split = 0
    while (split < count) {
      var at = hashes(split) & mask
      while (table(at) > 0) at = (at + 1) & mask
      table(at) = split + 1
      split += 1
    }
  }

  private def isAt(split: Int, key: UnsafeRow): Boolean = {
    val (from, size) = (start(split), key.getSizeInBytes)
    ends(split) - from == size && ByteArrayMethods.arrayEquals(
      key.getBaseObject,
      key.getBaseOffset,
      bytes,
      (Platform.BYTE_ARRAY_OFFSET + from).toLong,
      size.toLong)
  }

  private def start(split: Int): Int = if (split == 0) 0 else ends(split - 1)

  /** What the task has seen, by name. */
  private def times: SplitTimes = {
    val all = new SplitTimes
    if (hasWhole) all.note(SplitNames.Whole, whole)
    if (count > 0) {
      val texts = UnsafeProjection.create(factory.types.toIndexedSeq.zipWithIndex.map { case (kind, index) =>
        text(BoundReference(index, kind, nullable = true))
      })
      val key = new UnsafeRow(factory.types.length)
      val name = new NameBuffer
      var split = 0
      while (split < count) {
        key.pointTo(bytes, (Platform.BYTE_ARRAY_OFFSET + start(split)).toLong, ends(split) - start(split))
        val row = texts(key)
        name.clear()
        var part = 0
        while (part < factory.types.length) {
          if (row.isNullAt(part)) name.addNull() else name.add(row.getUTF8String(part))
          part += 1
        }
        all.note(name.bytes, name.length, largest(split))
        split += 1
      }
    }
    all
  }

  private def flush(partition: Int): Unit = factory.into.add(times, partition, farAhead)
}

private[tidemark] object TaskClocks {

  /** What a task needs to begin; goes to executors.
    * @param column the event-time column's name, for messages
    * @param types of the split's expressions
    */
  final case class Factory(
      into: SplitAccumulator,
      column: String,
      types: Array[DataType],
      limits: SplitClocksExec.Limits) {

    /** The clocks of this task; what they have seen is handed over when it ends. */
    def begin(): TaskClocks = {
      val clocks = new TaskClocks(this)
      // Also where a limit stops the rows early. Of a failed task Spark takes nothing.
      Option(TaskContext.get()).foreach(task =>
        task.addTaskCompletionListener[Unit](_ => clocks.flush(task.partitionId())))
      clocks
    }
  }

  private val MostBytes = 1 << 30

  /** A value as a part of a split's name: different values have different texts, the same in every session. */
  private def text(value: Expression): Expression = {
    val text = value.dataType match {
      case _: StringType => value
      case BinaryType => Hex(value)
      case _: StructType | _: ArrayType => StructsToJson(Map("ignoreNullFields" -> "false"), value, Some("UTC"))
      case _ => Cast(value, StringType, Some("UTC"))
    }
    text.transformUp { case replaced: RuntimeReplaceable => replaced.replacement }
  }
}
