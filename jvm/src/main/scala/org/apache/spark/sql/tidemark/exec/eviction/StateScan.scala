package org.apache.spark.sql.tidemark.exec.eviction

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.util.LongAccumulator

/** How a task scans the state of an aggregation by windows. */
private[tidemark] sealed trait StateScan extends Serializable {

  /** What is scanned of the state; `key` is the key in state. */
  def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A]

  /** Whether keys have been found, on the driver when the batch has ended, whose windows do not end with the others. */
  def hasWindowsOffGrid: Boolean = false
}

private[tidemark] object StateScan {

  def of(due: WindowSchedule): StateScan = due.scan match {
    case WindowSchedule.Skipped => Nothing
    case WindowSchedule.Whole => Whole
    case WindowSchedule.First => new Checked(due.grid, due.keyOrdinal)
  }

  private case object Nothing extends StateScan {
    override def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] = Iterator.empty
  }

  private case object Whole extends StateScan {
    override def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] = state
  }

  /** Counts the keys whose window does not end on the grid. */
  private final class Checked(grid: WindowGrid, keyOrdinal: Int) extends StateScan {
    private val windowsOffGrid: LongAccumulator = SparkContext.getActive.get.longAccumulator

    override def hasWindowsOffGrid: Boolean = !windowsOffGrid.isZero

    override def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] = {
      // Many keys have the same few windows.
      val isOnGrid = mutable.LongMap.empty[Boolean]
      state.map { row =>
        val keys = key(row)
        if (!keys.isNullAt(keyOrdinal)) {
          val end = keys.getStruct(keyOrdinal, WindowFields).getLong(EndOrdinal)
          if (!isOnGrid.getOrElseUpdate(end, grid.has(end))) windowsOffGrid.add(1)
        }
        row
      }
    }
  }

  // A window is its start and its end. Spark evicts by the second field of a struct.
  private val WindowFields = 2
  private val EndOrdinal = 1
}
