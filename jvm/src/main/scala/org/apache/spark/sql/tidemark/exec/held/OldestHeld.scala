package org.apache.spark.sql.tidemark.exec.held

import org.apache.spark.util.AccumulatorV2

/** The smallest event time (µs) that an operator holds after a batch, over all its tasks. */
private[exec] final class OldestHeld extends AccumulatorV2[Option[Long], Option[Long]] {
  @volatile private var smallest = Option.empty[Long]

  override def add(oldest: Option[Long]): Unit = smallest = (smallest ++ oldest).minOption
  override def merge(other: AccumulatorV2[Option[Long], Option[Long]]): Unit = add(other.value)
  override def value: Option[Long] = smallest
  override def isZero: Boolean = smallest.isEmpty
  override def reset(): Unit = smallest = None
  override def copy(): OldestHeld = {
    val same = new OldestHeld
    same.smallest = smallest
    same
  }
}
