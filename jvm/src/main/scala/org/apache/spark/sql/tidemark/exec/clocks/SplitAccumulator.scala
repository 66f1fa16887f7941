package org.apache.spark.sql.tidemark.exec.clocks

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.splits.{MaxEventTimes, SplitNameTable}

import org.apache.spark.util.AccumulatorV2

/** Brings the event times of an origin's splits from the tasks of a batch to the driver, once per task.
  *
  * Times are maxima, and rows too far ahead are counted by partition. So a task that runs twice, speculatively or
  * because its stage does, changes nothing. A task replaces the value rather than changing it, because the executor sends
  * it with its heartbeats while the task still runs. The driver merges what the tasks bring into one copy, which no
  * longer changes once it has been read.
  *
  * @param maxSplits how many splits are allowed; one more is kept, and the query is then refused
  */
private[tidemark] final class SplitAccumulator(maxSplits: Int) extends AccumulatorV2[MaxEventTimes, MaxEventTimes] {
  @volatile private var times = new MaxEventTimes
  @volatile private var farAhead = Map.empty[Long, Long]
  // Spark swallows exceptions thrown by `merge`, so the failure is kept and raised by `whole`.
  @volatile private var tooLong = false
  // Whether `times` belongs to this accumulator alone. Only the driver merges.
  @transient private var isOwn = false

  /** Adds the event times of one partition of the input; a task may have several. */
  def add(seen: MaxEventTimes, partition: Int, rowsFarAhead: Long): Unit = {
    add(seen)
    note(partition.toLong, farAhead.getOrElse(partition.toLong, 0L) + rowsFarAhead)
  }

  /** Rows whose event time was too far ahead of the wall clock. */
  def farAheadRows: Long = farAhead.values.sum

  override def value: MaxEventTimes = synchronized {
    isOwn = false
    times
  }

  /** The event times of all tasks.
    * @throws TidemarkException if there were too many splits to bring to the driver
    */
  def whole(column: String): MaxEventTimes = {
    if (tooLong) throw new TidemarkException(TidemarkError.SplitNamesTooLong(column))
    value
  }

  override def add(seen: MaxEventTimes): Unit =
    if (times.isEmpty) times = seen
    else if (!seen.isEmpty) times = merged(times.copy(), seen)

  private def merged(all: MaxEventTimes, seen: MaxEventTimes): MaxEventTimes = {
    try all.merge(seen, maxSplits)
    catch { case _: SplitNameTable.TooLong => tooLong = true }
    all
  }

  override def merge(other: AccumulatorV2[MaxEventTimes, MaxEventTimes]): Unit = other match {
    case that: SplitAccumulator =>
      synchronized {
        if (isOwn) times = merged(times, that.times)
        else if (times.isEmpty || that.times.isEmpty) add(that.times)
        else {
          add(that.times)
          isOwn = true
        }
      }
      tooLong ||= that.tooLong
      that.farAhead.foreach { case (partition, rows) => note(partition, rows) }
    case _ => throw new UnsupportedOperationException(s"cannot merge with ${other.getClass.getName}")
  }

  override def isZero: Boolean = times.isEmpty && farAhead.isEmpty && !tooLong

  override def reset(): Unit = synchronized {
    isOwn = false
    times = new MaxEventTimes
    farAhead = Map.empty
    tooLong = false
  }

  override def copy(): SplitAccumulator = {
    val same = new SplitAccumulator(maxSplits)
    same.times = value
    same.farAhead = farAhead
    same.tooLong = tooLong
    same
  }

  private def note(partition: Long, rows: Long): Unit =
    if (rows > 0) farAhead = farAhead.updated(partition, math.max(rows, farAhead.getOrElse(partition, 0L)))
}
