package org.apache.spark.sql.tidemark.exec

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, Predicate, UnsafeRow}
import org.apache.spark.util.LongAccumulator

/** How a task scans the state of an aggregation by windows. */
private[tidemark] sealed trait StateScan extends Serializable {

  /** What is scanned of the state; `key` is the key in state. */
  def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A]

  /** Whether keys have been found, on the driver when the batch has ended, whose windows do not end with the others. */
  def hasStrangers: Boolean = false
}

private[tidemark] object StateScan {

  def of(due: WindowsDue, keys: Seq[Attribute]): StateScan = due.scan match {
    case WindowsDue.Skipped => Nothing
    case WindowsDue.Whole => Whole
    case WindowsDue.First =>
      val window = keys(due.keyOrdinal)
      new Checked(due.grid.excludes(BoundReference(due.keyOrdinal, window.dataType, window.nullable)), keys)
  }

  private case object Nothing extends StateScan {
    override def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] = Iterator.empty
  }

  private case object Whole extends StateScan {
    override def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] = state
  }

  /** Counts the keys for which the predicate is true. */
  private final class Checked(predicate: Expression, keys: Seq[Attribute]) extends StateScan {
    private val strangers: LongAccumulator = SparkContext.getActive.get.longAccumulator

    override def hasStrangers: Boolean = !strangers.isZero

    override def over[A](state: => Iterator[A])(key: A => UnsafeRow): Iterator[A] = {
      val isStranger = Predicate.create(predicate, keys)
      state.map { row =>
        if (isStranger.eval(key(row))) strangers.add(1)
        row
      }
    }
  }
}
