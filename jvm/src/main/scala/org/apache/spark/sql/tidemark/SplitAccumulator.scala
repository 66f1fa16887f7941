package org.apache.spark.sql.tidemark

import scala.collection.mutable

import io.tidemark.core.SplitTimes

import org.apache.spark.util.AccumulatorV2

/** Brings what the tasks of a batch have seen of an origin's splits to the driver, once per task.
  *
  * Largest times are maxima and rows too far ahead are kept by partition, so that a task which runs twice, speculatively
  * or because its stage does, changes nothing.
  *
  * @param maxSplits no more splits than this and one are kept: the query is about to be refused
  */
private[tidemark] final class SplitAccumulator(maxSplits: Int) extends AccumulatorV2[SplitTimes, SplitTimes] {
  private var times = new SplitTimes
  private var farAhead = mutable.LongMap.empty[Long]

  def add(seen: SplitTimes, partition: Int, rowsFarAhead: Long): Unit = {
    add(seen)
    note(partition.toLong, rowsFarAhead)
  }

  /** Rows whose event time was too far ahead of processing time. */
  def farAheadRows: Long = farAhead.values.sum

  override def value: SplitTimes = times
  override def add(seen: SplitTimes): Unit = if (times.size <= maxSplits) times.merge(seen, maxSplits + 1)

  override def merge(other: AccumulatorV2[SplitTimes, SplitTimes]): Unit = other match {
    case that: SplitAccumulator =>
      add(that.times)
      that.farAhead.foreachEntry(note)
    case _ => throw new UnsupportedOperationException(s"cannot merge with ${other.getClass.getName}")
  }

  override def isZero: Boolean = times.isEmpty && farAhead.isEmpty

  override def reset(): Unit = {
    times = new SplitTimes
    farAhead = mutable.LongMap.empty
  }

  override def copy(): SplitAccumulator = {
    val same = new SplitAccumulator(maxSplits)
    same.times = times.copy()
    same.farAhead = farAhead.clone()
    same
  }

  private def note(partition: Long, rows: Long): Unit =
    if (rows > 0) farAhead.update(partition, math.max(rows, farAhead.getOrElse(partition, 0L)))
}
