package org.apache.spark.sql.tidemark.exec.clocks

import java.util.Arrays

import io.tidemark.core.bytes.KeyedHash

/** The largest event time of each split whose key is a number.
  *
  * A hash table with open addressing, at most half full, in which a number and its time lie side by side. A small table
  * is in the processor's cache, so each row is looked up directly. With many splits, rows wait in a short queue and are
  * looked up together. The rows of one split that follow one another are one look-up.
  *
  * [[ShortKeyMaxima]] could hold these keys too, but takes 12.7 ns for a row where this takes 4.4 (1,000 splits), and 46 ns
  * where this takes 23 (a million), by `RowClocksBenchmark`.
  */
private[tidemark] final class LongKeyMaxima(limits: ClockLimits, column: String) {
  import ClockTables._

  // The split of the last rows, which is not in the table yet, and its largest time.
  private var lastKey = 0L
  private var lastMillis = NoTime

  // The key, the hash and the time of each queued row.
  private val queue = new Array[Long](3 * QueuedRows)
  private var queued = 0
  // Written only so that the JIT cannot drop the prefetching reads.
  private[tidemark] var fetched = 0L

  private var pairs = empty(2 * FewestPlaces)
  private var count = 0

  def isEmpty: Boolean = count == 0 && queued == 0 && lastMillis == NoTime

  def observe(key: Long, millis: Long): Unit =
    if (key == lastKey) { if (millis > lastMillis) lastMillis = millis }
    else {
      if (lastMillis != NoTime) enter(lastKey, lastMillis)
      lastKey = key
      lastMillis = millis
    }

  private def enter(key: Long, millis: Long): Unit = {
    val hash = KeyedHash.of(key)
    if (count < FewSplits) {
      take(key, hash, millis)
      limits.requireAllowed(count, column)
    } else {
      if (queued == queue.length) {
        drain()
        limits.requireAllowed(count, column)
      }
      queue(queued) = key
      queue(queued + 1) = hash
      queue(queued + 2) = millis
      queued += 3
    }
  }

  def foreach(found: (Long, Long) => Unit): Unit = {
    drain()
    if (lastMillis != NoTime) take(lastKey, KeyedHash.of(lastKey), lastMillis)
    var at = 0
    while (at < pairs.length) {
      if (pairs(at + 1) != NoTime) found(pairs(at), pairs(at + 1))
      at += 2
    }
  }

  private def drain(): Unit = {
    fetch()
    var next = 0
    while (next < queued) {
      take(queue(next), queue(next + 1), queue(next + 2))
      next += 3
    }
    queued = 0
  }

  /** Reads the place of each row's split first, so that the processor waits for all cache misses together. */
  private def fetch(): Unit = {
    val pairs = this.pairs
    val mask = pairs.length - 1
    var read = 0L
    var next = 0
    while (next < queued) {
      read += pairs(place(queue(next + 1), mask))
      next += 3
    }
    fetched = read
  }

  private def place(hash: Long, mask: Int): Int = (hash >>> 32).toInt << 1 & mask

  private def take(key: Long, hash: Long, millis: Long): Unit = {
    val pairs = this.pairs
    val mask = pairs.length - 1
    var at = place(hash, mask)
    while (pairs(at) != key && pairs(at + 1) != NoTime) at = at + 2 & mask
    val before = pairs(at + 1)
    // True for a new key too: `NoTime` is before all times.
    if (millis > before) pairs(at + 1) = millis
    if (before == NoTime) {
      pairs(at) = key
      count += 1
      if (4 * count > pairs.length) grow()
    }
  }

  private def grow(): Unit = {
    val before = pairs
    pairs = empty(Math.multiplyExact(before.length, 2))
    val mask = pairs.length - 1
    var from = 0
    while (from < before.length) {
      if (before(from + 1) != NoTime) {
        var at = place(KeyedHash.of(before(from)), mask)
        while (pairs(at + 1) != NoTime) at = at + 2 & mask
        pairs(at) = before(from)
        pairs(at + 1) = before(from + 1)
      }
      from += 2
    }
  }

  private def empty(length: Int): Array[Long] = {
    val pairs = new Array[Long](length)
    Arrays.fill(pairs, NoTime)
    pairs
  }
}
