package org.apache.spark.sql.tidemark.exec.calls

import io.tidemark.core.calls.CallStats

import org.apache.spark.TaskContext
import org.apache.spark.sql.tidemark.exec.PartitionSums

/** What the calls of a batch were. */
private[tidemark] final class CallsSeen extends PartitionSums(CallStats.none) {

  /** Adds what is known when this task ends. */
  def whenTaskEnds(of: => CallStats): Unit =
    TaskContext.get().addTaskCompletionListener[Unit](task => add(task.partitionId() -> of))

  override protected def sum(left: CallStats, right: CallStats): CallStats = left + right
  override protected def sizeOf(of: CallStats): Long = of.calls
  override protected def empty: CallsSeen = new CallsSeen
}
