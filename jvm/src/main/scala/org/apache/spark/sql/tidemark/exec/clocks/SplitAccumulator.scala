package org.apache.spark.sql.tidemark.exec.clocks

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{MaxEventTimes, SplitNameTable}

import org.apache.spark.util.AccumulatorV2

/** Brings what the tasks of a batch have seen of an origin's splits to the driver, once per task.
  *
  * Largest times are maxima and rows too far ahead are kept by partition, so that a task which runs twice, speculatively
  * or because its stage does, changes nothing.
  *
  * What it holds is replaced and never changed, because an executor sends it along with its heartbeats while the task is
  * still at work.
  *
  * @param maxSplits no more splits than this and one are kept: the query is about to be refused
  */
private[tidemark] final class SplitAccumulator(maxSplits: Int) extends AccumulatorV2[MaxEventTimes, MaxEventTimes] {
  @volatile private var times = new MaxEventTimes
  @volatile private var farAhead = Map.empty[Long, Long]
  // Spark takes no failure from a merge: it is remembered, and told to who asks for the whole.
  @volatile private var tooLong = false

  /** What a task has seen of one partition of the input; it may have several. */
  def add(seen: MaxEventTimes, partition: Int, rowsFarAhead: Long): Unit = {
    add(seen)
    note(partition.toLong, farAhead.getOrElse(partition.toLong, 0L) + rowsFarAhead)
  }

  /** Rows whose event time was too far ahead of processing time. */
  def farAheadRows: Long = farAhead.values.sum

  override def value: MaxEventTimes = times

  /** All that was seen.
    * @throws TidemarkException when it was too much to bring along
    */
  def whole(column: String): MaxEventTimes = {
    if (tooLong) throw new TidemarkException(TidemarkError.splitNamesTooLong(column))
    times
  }

  override def add(seen: MaxEventTimes): Unit =
    if (times.isEmpty) times = seen
    else if (!seen.isEmpty) {
      val both = times.copy()
      try both.merge(seen, maxSplits)
      catch { case _: SplitNameTable.TooLong => tooLong = true }
      times = both
    }

  override def merge(other: AccumulatorV2[MaxEventTimes, MaxEventTimes]): Unit = other match {
    case that: SplitAccumulator =>
      add(that.times)
      tooLong ||= that.tooLong
      that.farAhead.foreach { case (partition, rows) => note(partition, rows) }
    case _ => throw new UnsupportedOperationException(s"cannot merge with ${other.getClass.getName}")
  }

  override def isZero: Boolean = times.isEmpty && farAhead.isEmpty && !tooLong

  override def reset(): Unit = {
    times = new MaxEventTimes
    farAhead = Map.empty
    tooLong = false
  }

  override def copy(): SplitAccumulator = {
    val same = new SplitAccumulator(maxSplits)
    same.times = times
    same.farAhead = farAhead
    same.tooLong = tooLong
    same
  }

  private def note(partition: Long, rows: Long): Unit =
    if (rows > 0) farAhead = farAhead.updated(partition, math.max(rows, farAhead.getOrElse(partition, 0L)))
}
