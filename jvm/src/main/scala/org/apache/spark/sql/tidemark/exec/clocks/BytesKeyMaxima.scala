package org.apache.spark.sql.tidemark.exec.clocks

import java.util.Arrays

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** The largest event time of each split whose key is a text or a row.
  *
  * A hash table with open addressing, at most half full. A key's hash, the place of its bytes, and its time lie side by
  * side. With many splits, rows wait in a short queue as in [[LongKeyMaxima]]; a small table is in the cache, so there
  * a row is looked up at once.
  */
private[tidemark] final class BytesKeyMaxima(limits: ClockLimits, column: String) {
  import BytesKeyMaxima._

  // The key, hash, size and time of each queued row.
  private var queue = new Array[Byte](2 * QueuedBytes)
  private var queueLength = 0
  private val waiting = new Array[Long](2 * QueuedRows)
  private var queued = 0
  // Written only so that the JIT cannot drop the prefetching reads.
  private[tidemark] var fetched = 0L

  private val keys = new Keys(column)
  private var pairs = new Array[Long](2 * 64)
  private var count = 0

  def isEmpty: Boolean = count == 0 && queued == 0

  def note(key: UTF8String, millis: Long): Unit = note(key.getBaseObject, key.getBaseOffset, key.numBytes, millis)

  def note(key: UnsafeRow, millis: Long): Unit = note(key.getBaseObject, key.getBaseOffset, key.getSizeInBytes, millis)

  private def note(base: AnyRef, at: Long, size: Int, millis: Long): Unit = {
    val hash = KeyBytes.hash(base, at, size)
    if (count < FewSplits) {
      take(base, at, size, hash, millis)
      limits.requireAllowed(count, column)
    } else enqueue(base, at, size, hash, millis)
  }

  private def enqueue(base: AnyRef, at: Long, size: Int, hash: Int, millis: Long): Unit = {
    if (queued == waiting.length || queueLength > QueuedBytes) {
      drain()
      limits.requireAllowed(count, column)
    }
    queue = atLeast(queue, queueLength.toLong + size, column)
    KeyBytes.copy(base, at, queue, Platform.BYTE_ARRAY_OFFSET.toLong + queueLength, size)
    queueLength += size
    waiting(queued) = pair(hash, size)
    waiting(queued + 1) = millis
    queued += 2
  }

  /** Reads the place of each row's split first, so that the processor waits for all cache misses together. */
  private def fetch(): Unit = {
    val (pairs, bytes) = (this.pairs, keys.bytes)
    val mask = pairs.length - 1
    var read = 0L
    var next = 0
    while (next < queued) {
      val place = upper(waiting(next)) << 1 & mask
      read += pairs(place)
      next += 2
    }
    next = 0
    while (next < queued) {
      read += bytes(lower(pairs(upper(waiting(next)) << 1 & mask)))
      next += 2
    }
    fetched = read
  }

  private def drain(): Unit = {
    fetch()
    var at = Platform.BYTE_ARRAY_OFFSET.toLong
    var next = 0
    while (next < queued) {
      val size = lower(waiting(next))
      take(queue, at, size, upper(waiting(next)), waiting(next + 1))
      at += size
      next += 2
    }
    queueLength = 0
    queued = 0
  }

  private def take(base: AnyRef, at: Long, size: Int, hash: Int, millis: Long): Unit = {
    val pairs = this.pairs
    val mask = pairs.length - 1
    var place = hash << 1 & mask
    while (pairs(place) != Free) {
      if (upper(pairs(place)) == hash && keys.isAt(lower(pairs(place)) - 1, base, at, size)) {
        if (millis > pairs(place + 1)) pairs(place + 1) = millis
        return
      }
      place = place + 2 & mask
    }
    pairs(place) = pair(hash, keys.add(base, at, size) + 1)
    pairs(place + 1) = millis
    count += 1
    if (4 * count > pairs.length) grow()
  }

  private def grow(): Unit = {
    val before = pairs
    pairs = new Array[Long](Math.multiplyExact(before.length, 2))
    val mask = pairs.length - 1
    var from = 0
    while (from < before.length) {
      if (before(from) != Free) {
        var place = upper(before(from)) << 1 & mask
        while (pairs(place) != Free) place = place + 2 & mask
        pairs(place) = before(from)
        pairs(place + 1) = before(from + 1)
      }
      from += 2
    }
  }

  /** Calls the function with the place of each split's key and with its time. */
  def foreach(found: (Int, Long) => Unit): Unit = {
    drain()
    var at = 0
    while (at < pairs.length) {
      if (pairs(at) != Free) found(lower(pairs(at)) - 1, pairs(at + 1))
      at += 2
    }
  }

  /** Points the row at the bytes of a key. */
  def point(row: UnsafeRow, key: Int): Unit = row.pointTo(keys.bytes, keys.address(key), keys.size(key))

  /** The text of a key. */
  def text(key: Int): UTF8String = UTF8String.fromAddress(keys.bytes, keys.address(key), keys.size(key))
}

private object BytesKeyMaxima {
  private final val FewSplits = 4096
  private final val QueuedRows = 256
  private final val QueuedBytes = 1 << 14
  private final val MostBytes = 1 << 30

  // The first half of a pair in the table: a key's hash, and its place counted from 1.
  private final val Free = 0L
  private def pair(upper: Int, lower: Int): Long = upper.toLong << 32 | lower
  private def upper(pair: Long): Int = (pair >>> 32).toInt
  private def lower(pair: Long): Int = pair.toInt

  private def atLeast(bytes: Array[Byte], size: Long, column: String): Array[Byte] =
    if (size <= bytes.length) bytes
    else if (size > MostBytes) throw new TidemarkException(TidemarkError.SplitNamesTooLong(column))
    else Arrays.copyOf(bytes, math.max(size, math.min(bytes.length * 2L, MostBytes.toLong)).toInt)

  /** Keys one after the other, each behind its size. */
  private final class Keys(column: String) {
    var bytes = new Array[Byte](1024)
    private var length = 0

    /** Returns the place of the key. */
    def add(base: AnyRef, at: Long, size: Int): Int = {
      val key = length
      val end = key.toLong + SizeBytes + size
      bytes = atLeast(bytes, end, column)
      Platform.putInt(bytes, address(key) - SizeBytes, size)
      KeyBytes.copy(base, at, bytes, address(key), size)
      length = end.toInt
      key
    }

    def isAt(key: Int, base: AnyRef, at: Long, size: Int): Boolean =
      this.size(key) == size && KeyBytes.same(bytes, address(key), base, at, size)

    def address(key: Int): Long = Platform.BYTE_ARRAY_OFFSET.toLong + key + SizeBytes
    def size(key: Int): Int = Platform.getInt(bytes, address(key) - SizeBytes)
  }

  private final val SizeBytes = 4
}
