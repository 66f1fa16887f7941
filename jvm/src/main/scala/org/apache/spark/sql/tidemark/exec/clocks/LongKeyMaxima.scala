package org.apache.spark.sql.tidemark.exec.clocks

import java.util.Arrays

import io.tidemark.core.bytes.KeyedHash

/** The largest event time of each split whose key is a number.
  *
  * A hash table with open addressing, at most half full, in which a number and its time lie side by side. Rows wait in
  * a short queue and enter the table together. Their places are far apart in memory, and a processor that sees the next
  * look-ups coming waits for all of them at once.
  */
private[tidemark] final class LongKeyMaxima(limits: ClockLimits, column: String) {
  import LongKeyMaxima._
  import LongKeyMaxima.NoTime

  private val queue = new Array[Long](2 * QueuedRows)
  private var queued = 0
  private var pairs = emptyPairs(32)
  private var shift = shiftOf(pairs)
  private var count = 0

  def isEmpty: Boolean = count == 0 && queued == 0

  def note(key: Long, millis: Long): Unit = {
    if (queued == queue.length) {
      drain()
      limits.requireAllowed(count, column)
    }
    queue(queued) = key
    queue(queued + 1) = millis
    queued += 2
  }

  def foreach(found: (Long, Long) => Unit): Unit = {
    drain()
    foreachIn(pairs)(found)
  }

  private def drain(): Unit = {
    // All queued rows may have new keys.
    while (2 * (2 * count + queued) > pairs.length) grow()
    var next = 0
    while (next < queued) {
      take(queue(next), queue(next + 1))
      next += 2
    }
    queued = 0
  }

  private def take(key: Long, millis: Long): Unit = {
    val at = place(key)
    val before = pairs(at + 1)
    if (before == NoTime) {
      pairs(at) = key
      count += 1
    }
    // True for a new key too: `NoTime` is before all times.
    if (millis > before) pairs(at + 1) = millis
  }

  /** The place of a number, or the place where it would be. */
  private def place(key: Long): Int = {
    val mask = pairs.length - 1
    var at = (KeyedHash.of(key) >>> shift).toInt << 1
    while (pairs(at) != key && pairs(at + 1) != NoTime) at = at + 2 & mask
    at
  }

  private def grow(): Unit = {
    val before = pairs
    pairs = emptyPairs(before.length)
    shift = shiftOf(pairs)
    foreachIn(before) { (key, millis) =>
      val at = place(key)
      pairs(at) = key
      pairs(at + 1) = millis
    }
  }
}

private[tidemark] object LongKeyMaxima {

  /** A time before any event time: event times are µs in Spark, so as ms they never reach this. */
  val NoTime: Long = Long.MinValue

  private val QueuedRows = 256

  private def emptyPairs(pairs: Int): Array[Long] = {
    val empty = new Array[Long](Math.multiplyExact(pairs, 2))
    Arrays.fill(empty, NoTime)
    empty
  }

  private def shiftOf(pairs: Array[Long]): Int = java.lang.Long.numberOfLeadingZeros(pairs.length / 2L) + 1

  private def foreachIn(pairs: Array[Long])(found: (Long, Long) => Unit): Unit = {
    var at = 0
    while (at < pairs.length) {
      if (pairs(at + 1) != NoTime) found(pairs(at), pairs(at + 1))
      at += 2
    }
  }
}
