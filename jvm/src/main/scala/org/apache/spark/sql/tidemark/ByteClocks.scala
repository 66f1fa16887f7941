package org.apache.spark.sql.tidemark

import java.util.Arrays

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

/** The largest event time of each split, where a text or a row says which one.
  *
  * A hash table of open addressing, at most half full, whose places hold a key's hash and its number. Rows wait in a short
  * queue as those of [[LongClocks]] do; rows of one split that follow each other cost a comparison.
  */
private[tidemark] final class ByteClocks(factory: TaskClocks.Factory) {
  import ByteClocks._

  private val queue = new Keys(factory.column)
  private val queueTimes = new Array[Long](QueuedRows)
  private val keys = new Keys(factory.column)
  private var times = new Array[Long](32)
  private var places = new Array[Long](64)

  def isEmpty: Boolean = keys.count == 0 && queue.count == 0

  def note(key: UTF8String, millis: Long): Unit = note(key.getBaseObject, key.getBaseOffset, key.numBytes, millis)

  def note(key: UnsafeRow, millis: Long): Unit = note(key.getBaseObject, key.getBaseOffset, key.getSizeInBytes, millis)

  private def note(base: AnyRef, offset: Long, size: Int, millis: Long): Unit = {
    val newest = queue.count - 1
    if (newest >= 0 && queue.isAt(newest, base, offset, size)) {
      if (millis > queueTimes(newest)) queueTimes(newest) = millis
    } else {
      if (queue.count == QueuedRows || queue.length > QueuedBytes) {
        drain()
        factory.requireAllowed(keys.count)
      }
      queue.add(base, offset, size)
      queueTimes(queue.count - 1) = millis
    }
  }

  /** Calls with the number and the time of each split. */
  def foreach(found: (Int, Long) => Unit): Unit = {
    drain()
    var number = 0
    while (number < keys.count) {
      found(number, times(number))
      number += 1
    }
  }

  /** Points at a key that was a row. */
  def point(row: UnsafeRow, number: Int): Unit = row.pointTo(keys.bytes, keys.address(number), keys.length(number))

  /** A key that was a text. */
  def text(number: Int): UTF8String = UTF8String.fromAddress(keys.bytes, keys.address(number), keys.length(number))

  private def drain(): Unit = {
    var next = 0
    while (next < queue.count) {
      val number = find(queue.bytes, queue.address(next), queue.length(next))
      if (queueTimes(next) > times(number)) times(number) = queueTimes(next)
      next += 1
    }
    queue.clear()
  }

  private def find(base: AnyRef, offset: Long, size: Int): Int = {
    val hash = Murmur3_x86_32.hashUnsafeBytes(base, offset, size, 42)
    val mask = places.length - 1
    var at = hash & mask
    while (places(at) != 0) {
      val number = (places(at) & NumberMask).toInt - 1
      if ((places(at) >> 32).toInt == hash && keys.isAt(number, base, offset, size)) return number
      at = at + 1 & mask
    }
    keys.add(base, offset, size)
    if (keys.count > times.length) times = Arrays.copyOf(times, times.length * 2)
    times(keys.count - 1) = TaskClocks.NoTime
    places(at) = hash.toLong << 32 | keys.count
    if (keys.count * 2 > places.length) grow()
    keys.count - 1
  }

  private def grow(): Unit = {
    val before = places
    places = new Array[Long](Math.multiplyExact(before.length, 2))
    val mask = places.length - 1
    before.foreach { place =>
      if (place != 0) {
        var at = (place >> 32).toInt & mask
        while (places(at) != 0) at = at + 1 & mask
        places(at) = place
      }
    }
  }
}

private object ByteClocks {
  private val QueuedRows = 256
  private val QueuedBytes = 1 << 14
  private val MostBytes = 1 << 30
  private val NumberMask = 0xffffffffL

  /** The bytes of keys, one behind the other. */
  private final class Keys(column: String) {
    var bytes = new Array[Byte](1024)
    private var ends = new Array[Int](32)
    var count = 0

    /** Of all keys together. */
    def length: Int = start(count)

    def clear(): Unit = count = 0

    def add(base: AnyRef, offset: Long, size: Int): Unit = {
      val (from, end) = (length, length.toLong + size)
      if (end > MostBytes) throw new TidemarkException(TidemarkError.splitNamesTooLong(column))
      if (end > bytes.length)
        bytes = Arrays.copyOf(bytes, math.max(end, math.min(bytes.length * 2L, MostBytes.toLong)).toInt)
      if (count == ends.length) ends = Arrays.copyOf(ends, count * 2)
      Platform.copyMemory(base, offset, bytes, Platform.BYTE_ARRAY_OFFSET.toLong + from, size.toLong)
      ends(count) = end.toInt
      count += 1
    }

    def isAt(number: Int, base: AnyRef, offset: Long, size: Int): Boolean =
      length(number) == size && ByteArrayMethods.arrayEquals(base, offset, bytes, address(number), size.toLong)

    def length(number: Int): Int = ends(number) - start(number)
    def address(number: Int): Long = Platform.BYTE_ARRAY_OFFSET.toLong + start(number)

    private def start(number: Int): Int = if (number == 0) 0 else ends(number - 1)
  }
}
