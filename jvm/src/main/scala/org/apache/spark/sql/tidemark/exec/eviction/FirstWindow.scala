package org.apache.spark.sql.tidemark.exec.eviction

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.tidemark.exec.PartitionSums
import org.apache.spark.sql.tidemark.exec.clocks.TaskCollector

/** The windows that a batch has seen in the state of an aggregation, over all keys.
  * @param firstMicros the first end of one that stays in state (µs); `Long.MaxValue` if none does
  */
private[eviction] final case class FirstWindow(windows: Long, firstMicros: Long)

private[eviction] object FirstWindow {
  private val none = FirstWindow(0L, Long.MaxValue)

  // A window is its start and its end. Spark evicts by the second field of a struct.
  private val WindowFields = 2
  private val EndOrdinal = 1

  /** The end of the window in a row (µs). */
  def endOf(row: UnsafeRow, ordinal: Int): Long = row.getStruct(ordinal, WindowFields).getLong(EndOrdinal)

  /** The windows of one task, in plain fields.
    * @param evictedMicros windows that end then or earlier leave the state (µs)
    */
  final class OfTask(evictedMicros: Long) {
    private var windows = 0L
    private var first = Long.MaxValue

    def add(endMicros: Long): Unit = {
      windows += 1
      if (endMicros < first && endMicros > evictedMicros) first = endMicros
    }

    private[FirstWindow] def flush(into: Accumulator, partition: Int): Unit =
      if (windows > 0) into.add(partition -> FirstWindow(windows, first))
  }

  final class Accumulator extends PartitionSums(none) {

    /** That of all partitions; `None` if no window stays in state. */
    def firstMicros: Option[Long] = Some(value.firstMicros).filter(_ < Long.MaxValue)

    def begin(evictedMicros: Long): OfTask = {
      val seen = new OfTask(evictedMicros)
      TaskCollector.begin(seen)(seen.flush(this, _))
    }

    override protected def sum(left: FirstWindow, right: FirstWindow): FirstWindow =
      FirstWindow(left.windows + right.windows, math.min(left.firstMicros, right.firstMicros))
    override protected def sizeOf(seen: FirstWindow): Long = seen.windows
    override protected def empty: Accumulator = new Accumulator
  }
}
