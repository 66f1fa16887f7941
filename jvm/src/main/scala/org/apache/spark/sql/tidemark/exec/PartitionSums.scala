package org.apache.spark.sql.tidemark.exec

import org.apache.spark.util.AccumulatorV2

/** Brings what the tasks of a batch have counted to the driver by partition, so that a task that runs twice counts once. Of two
  * runs of a task the one with more counts.
  */
private[tidemark] abstract class PartitionSums[A](none: A) extends AccumulatorV2[(Int, A), A] {
  // Replaced rather than changed: heartbeats read it while the task runs.
  @volatile private var parts = Map.empty[Int, A]

  protected def sum(left: A, right: A): A

  /** By how much two runs of one task are compared. */
  protected def sizeOf(counted: A): Long
  protected def empty: PartitionSums[A]

  /** Adds the count of one partition; a task may have several partitions of its input. */
  override def add(counted: (Int, A)): Unit =
    parts = parts.updated(counted._1, sum(parts.getOrElse(counted._1, none), counted._2))

  override def merge(other: AccumulatorV2[(Int, A), A]): Unit = other match {
    case that: PartitionSums[A @unchecked] =>
      parts ++= that.parts.filter { case (partition, counted) =>
        sizeOf(counted) > sizeOf(parts.getOrElse(partition, none))
      }
    case _ => throw new UnsupportedOperationException(s"cannot merge with ${other.getClass.getName}")
  }

  override def value: A = parts.values.foldLeft(none)(sum)
  override def isZero: Boolean = parts.isEmpty
  override def reset(): Unit = parts = Map.empty
  override def copy(): PartitionSums[A] = {
    val same = empty
    same.parts = parts
    same
  }
}
