package org.apache.spark.sql.tidemark.exec.eviction

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.util.LongAccumulator

/** How the tasks of a batch scan the state of an aggregation by windows, and what they see of it.
  * @param written where the window is in a row that is written
  */
private[tidemark] final class StateScan(due: WindowSchedule, written: Int) extends Serializable {
  private val found = new FirstWindow.Accumulator
  private val windowsOffGrid = new LongAccumulator
  SparkContext.getActive.foreach { context =>
    context.register(found)
    context.register(windowsOffGrid)
  }

  // Each task has a copy of this object.
  @transient private lazy val seen = found.begin(due.evictedMicros)

  // Many keys have the same few windows.
  @transient private lazy val isOnGrid = mutable.LongMap.empty[Boolean]

  private def isSkipped = due.scan == WindowSchedule.Skipped

  /** Whether keys have been found, on the driver when the batch has ended, whose windows do not end with the others. */
  def hasWindowsOffGrid: Boolean = !windowsOffGrid.isZero

  /** The first end of a window that stays in state (µs), on the driver when the batch has ended. If the batch skips the scan, it
    * is that of the windows that have changed.
    */
  def firstMicros: Option[Long] = found.firstMicros

  /** A row that is written into the state. */
  def write(row: UnsafeRow): Unit =
    if (isSkipped && !row.isNullAt(written)) seen.add(FirstWindow.endOf(row, written))

  /** What is scanned of the state; `key` is the key in state. */
  def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] =
    if (isSkipped) Iterator.empty
    else {
      val checks = due.scan == WindowSchedule.First
      state.map { row =>
        val keys = key(row)
        if (!keys.isNullAt(due.keyOrdinal)) {
          val end = FirstWindow.endOf(keys, due.keyOrdinal)
          seen.add(end)
          if (checks && !isOnGrid.getOrElseUpdate(end, due.grid.has(end))) windowsOffGrid.add(1)
        }
        row
      }
    }
}
