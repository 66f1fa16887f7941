package org.apache.spark.sql.tidemark.exec.clocks

import java.util.Arrays

import io.tidemark.core.bytes.KeyedHash

/** The largest event time of each split whose key has at most [[KeyBytes.MostShort]] bytes, as most names have.
  *
  * Such a key is two numbers, which lie side by side with its time in a hash table with open addressing, at most half
  * full. So a look-up compares two numbers and reads one place in memory. Rows wait in a queue as in [[LongKeyMaxima]].
  */
private[tidemark] final class ShortKeyMaxima(limits: ClockLimits, column: String) {
  import ClockTables._

  // The split of the last rows, which is not in the table yet, and its largest time.
  private var lastFirst = 0L
  private var lastSecond = 0L
  private var lastMillis = NoTime

  // The key, the hash and the time of each queued row.
  private val queue = new Array[Long](4 * QueuedRows)
  private var queued = 0
  // Written only so that the JIT cannot drop the prefetching reads.
  private[tidemark] var fetched = 0L

  // The key that is hashed.
  private val hashed = new Array[Long](2)

  // For each place the two numbers of the key, and the time.
  private var entries = empty(FewestPlaces)
  private var mask = FewestPlaces - 1
  private var count = 0

  def isEmpty: Boolean = count == 0 && queued == 0 && lastMillis == NoTime

  /** @param first the key's first number, as [[KeyBytes.first]] gives it; @param second its second number */
  def observe(first: Long, second: Long, millis: Long): Unit =
    if (first == lastFirst && second == lastSecond) { if (millis > lastMillis) lastMillis = millis }
    else {
      if (lastMillis != NoTime) enter(lastFirst, lastSecond, lastMillis)
      lastFirst = first
      lastSecond = second
      lastMillis = millis
    }

  private def enter(first: Long, second: Long, millis: Long): Unit = {
    val hash = hashOf(first, second)
    if (count < FewSplits) {
      take(first, second, hash, millis)
      limits.requireAllowed(count, column)
    } else {
      if (queued == queue.length) {
        drain()
        limits.requireAllowed(count, column)
      }
      queue(queued) = first
      queue(queued + 1) = second
      queue(queued + 2) = hash
      queue(queued + 3) = millis
      queued += 4
    }
  }

  /** Calls the function with the two numbers of each split's key, and with its time. */
  def foreach(found: (Long, Long, Long) => Unit): Unit = {
    drain()
    if (lastMillis != NoTime) take(lastFirst, lastSecond, hashOf(lastFirst, lastSecond), lastMillis)
    var at = 0
    while (at < entries.length) {
      if (entries(at + 2) != NoTime) found(entries(at), entries(at + 1), entries(at + 2))
      at += 3
    }
  }

  private def hashOf(first: Long, second: Long): Long = {
    hashed(0) = first
    hashed(1) = second
    KeyedHash.of(hashed, 0, 2)
  }

  private def drain(): Unit = {
    fetch()
    var next = 0
    while (next < queued) {
      take(queue(next), queue(next + 1), queue(next + 2), queue(next + 3))
      next += 4
    }
    queued = 0
  }

  /** Reads the place of each row's split first, so that the processor waits for all cache misses together. */
  private def fetch(): Unit = {
    val entries = this.entries
    val mask = this.mask
    var read = 0L
    var next = 0
    while (next < queued) {
      read += entries(3 * (queue(next + 2).toInt & mask))
      next += 4
    }
    fetched = read
  }

  private def take(first: Long, second: Long, hash: Long, millis: Long): Unit = {
    val entries = this.entries
    val mask = this.mask
    var place = hash.toInt & mask
    while (!isFor(entries, 3 * place, first, second)) place = place + 1 & mask
    val at = 3 * place
    val before = entries(at + 2)
    // True for a new key too: `NoTime` is before all times.
    if (millis > before) entries(at + 2) = millis
    if (before == NoTime) {
      entries(at) = first
      entries(at + 1) = second
      count += 1
      if (2 * count > mask) grow()
    }
  }

  /** Whether a place is that of a key, or free. */
  private def isFor(entries: Array[Long], at: Int, first: Long, second: Long): Boolean =
    entries(at) == first && entries(at + 1) == second || entries(at + 2) == NoTime

  private def grow(): Unit = {
    val before = entries
    val places = Math.multiplyExact(mask + 1, 2)
    entries = empty(places)
    mask = places - 1
    var from = 0
    while (from < before.length) {
      if (before(from + 2) != NoTime) {
        var place = KeyedHash.of(before, from, from + 2).toInt & mask
        while (entries(3 * place + 2) != NoTime) place = place + 1 & mask
        System.arraycopy(before, from, entries, 3 * place, 3)
      }
      from += 3
    }
  }

  private def empty(places: Int): Array[Long] = {
    val entries = new Array[Long](Math.multiplyExact(places, 3))
    Arrays.fill(entries, NoTime)
    entries
  }
}
