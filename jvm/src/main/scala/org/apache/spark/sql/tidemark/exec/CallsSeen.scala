package org.apache.spark.sql.tidemark.exec

import io.tidemark.core.calls.CallStats

import org.apache.spark.TaskContext
import org.apache.spark.util.AccumulatorV2

/** Brings what the calls of a batch were to the driver by partition, so that a task that runs twice counts once. */
private[tidemark] final class CallsSeen extends AccumulatorV2[(Int, CallStats), CallStats] {
  // Replaced rather than changed: heartbeats read it while the task runs.
  @volatile private var parts = Map.empty[Int, CallStats]

  /** Adds what is known when this task ends. */
  def whenTaskEnds(of: => CallStats): Unit =
    TaskContext.get().addTaskCompletionListener[Unit](task => add(task.partitionId() -> of))

  override def add(seen: (Int, CallStats)): Unit =
    parts = parts.updated(seen._1, parts.getOrElse(seen._1, CallStats.none) + seen._2)

  override def merge(other: AccumulatorV2[(Int, CallStats), CallStats]): Unit = other match {
    case that: CallsSeen =>
      parts ++= that.parts.filter { case (partition, of) =>
        of.calls > parts.getOrElse(partition, CallStats.none).calls
      }
    case _ => throw new UnsupportedOperationException(s"cannot merge with ${other.getClass.getName}")
  }

  override def value: CallStats = parts.values.foldLeft(CallStats.none)(_ + _)
  override def isZero: Boolean = parts.isEmpty
  override def reset(): Unit = parts = Map.empty
  override def copy(): CallsSeen = {
    val same = new CallsSeen
    same.parts = parts
    same
  }
}
