package org.apache.spark.sql.tidemark.exec.clocks

import java.util.Arrays

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.bytes.KeyedHash

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.types.UTF8String

/** The largest event time of each split whose key is a longer text or a row.
  *
  * A hash table with open addressing, at most half full. A key's hash, the place of its bytes, and its time lie side by
  * side. Keys are kept in whole words, the size first. The rows of one split that follow one another are one look-up. With
  * many splits, rows wait in a queue as in [[LongKeyMaxima]].
  */
private[tidemark] final class BytesKeyMaxima(limits: ClockLimits, column: String) {
  import BytesKeyMaxima._
  import ClockTables._

  // The words of each queued row's key, one key after the other.
  private var queue = new Array[Long](2 * QueuedWords)
  private var queueLength = 0
  // The hash, the number of words and the time of each queued row.
  private val waiting = new Array[Long](2 * QueuedRows)
  private var queued = 0
  // Written only so that the JIT cannot drop the prefetching reads.
  private[tidemark] var fetched = 0L

  private var keys = new Array[Long](128)
  // No key begins at place 0, so that no pair in use is `Free`.
  private var keysLength = 1
  private var pairs = new Array[Long](2 * FewestPlaces)
  private var count = 0
  // Where the last row's split is in `pairs`; -1 if that is unknown.
  private var last = -1

  def isEmpty: Boolean = count == 0 && queued == 0

  def observe(key: UnsafeRow, millis: Long): Unit =
    observe(key.getBaseObject, key.getBaseOffset, key.getSizeInBytes, millis)

  /** @param base where the key's bytes are, as Spark's `Platform` reads them */
  def observe(base: AnyRef, at: Long, size: Int, millis: Long): Unit = {
    val words = KeyBytes.words(size)
    if (queueLength + words.toLong > queue.length) queue = grown(queue, queueLength + words.toLong)
    KeyBytes.write(base, at, size, queue, queueLength)
    if (count < FewSplits) noteNow(words, millis)
    else if (isLast(words)) waiting(queued - 1) = math.max(waiting(queued - 1), millis)
    else {
      if (queued == waiting.length || queueLength > QueuedWords) enter(words)
      waiting(queued) = pair(KeyedHash.of(queue, queueLength, queueLength + words).toInt, words)
      waiting(queued + 1) = millis
      queued += 2
      queueLength += words
    }
  }

  /** Nothing is queued, and the key is where the queue begins. */
  private def noteNow(words: Int, millis: Long): Unit =
    if (last >= 0 && same(keys, lower(pairs(last)), queue, 0, words)) {
      if (millis > pairs(last + 1)) pairs(last + 1) = millis
    } else {
      take(0, words, KeyedHash.of(queue, 0, words).toInt, millis)
      limits.requireAllowed(count, column)
    }

  /** Whether the key behind the queue is that of the last queued row. */
  private def isLast(words: Int): Boolean = queued > 0 && lower(waiting(queued - 2)) == words &&
    same(queue, queueLength - words, queue, queueLength, words)

  /** Empties the queue, and moves the key behind it to its begin. */
  private def enter(words: Int): Unit = {
    val from = queueLength
    drain()
    limits.requireAllowed(count, column)
    System.arraycopy(queue, from, queue, 0, words)
  }

  /** Reads the place of each row's split first, so that the processor waits for all cache misses together. */
  private def fetch(): Unit = {
    val pairs = this.pairs
    val keys = this.keys
    val mask = pairs.length - 1
    var read = 0L
    var next = 0
    while (next < queued) {
      read += pairs(upper(waiting(next)) << 1 & mask)
      next += 2
    }
    next = 0
    while (next < queued) {
      read += keys(lower(pairs(upper(waiting(next)) << 1 & mask)))
      next += 2
    }
    fetched = read
  }

  private def drain(): Unit = {
    fetch()
    var from = 0
    var next = 0
    while (next < queued) {
      val words = lower(waiting(next))
      take(from, words, upper(waiting(next)), waiting(next + 1))
      from += words
      next += 2
    }
    queueLength = 0
    queued = 0
  }

  /** @param from where the key begins in the queue */
  private def take(from: Int, words: Int, hash: Int, millis: Long): Unit = {
    val pairs = this.pairs
    val mask = pairs.length - 1
    var place = hash << 1 & mask
    while (pairs(place) != Free) {
      // The first word has the size, so no key is the begin of another.
      if (upper(pairs(place)) == hash && same(keys, lower(pairs(place)), queue, from, words)) {
        if (millis > pairs(place + 1)) pairs(place + 1) = millis
        last = place
        return
      }
      place = place + 2 & mask
    }
    pairs(place) = pair(hash, add(from, words))
    pairs(place + 1) = millis
    last = place
    count += 1
    if (4 * count > pairs.length) grow()
  }

  private def add(from: Int, words: Int): Int = {
    val key = keysLength
    if (key + words.toLong > keys.length) keys = grown(keys, key + words.toLong)
    System.arraycopy(queue, from, keys, key, words)
    keysLength = key + words
    key
  }

  private def same(left: Array[Long], leftAt: Int, right: Array[Long], rightAt: Int, words: Int): Boolean = {
    var word = 0
    while (word < words && left(leftAt + word) == right(rightAt + word)) word += 1
    word == words
  }

  private def grow(): Unit = {
    val before = pairs
    last = -1
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

  private def grown(words: Array[Long], size: Long): Array[Long] =
    if (size > MostWords) throw new TidemarkException(TidemarkError.SplitNamesTooLong(column))
    else Arrays.copyOf(words, math.max(size, math.min(words.length * 2L, MostWords.toLong)).toInt)

  /** Calls the function with the place of each split's key and with its time. */
  def foreach(found: (Int, Long) => Unit): Unit = {
    drain()
    var at = 0
    while (at < pairs.length) {
      if (pairs(at) != Free) found(lower(pairs(at)), pairs(at + 1))
      at += 2
    }
  }

  /** Points the row at the bytes of a key. */
  def point(row: UnsafeRow, key: Int): Unit = row.pointTo(keys, KeyBytes.address(key), KeyBytes.size(keys, key))

  /** The text of a key. */
  def text(key: Int): UTF8String = UTF8String.fromAddress(keys, KeyBytes.address(key), KeyBytes.size(keys, key))
}

private object BytesKeyMaxima {
  private final val QueuedWords = 1 << 11
  private final val MostWords = 1 << 27

  // The first half of a pair in the table: a key's hash, and its place.
  private final val Free = 0L
  private def pair(upper: Int, lower: Int): Long = upper.toLong << 32 | lower
  private def upper(pair: Long): Int = (pair >>> 32).toInt
  private def lower(pair: Long): Int = pair.toInt
}
