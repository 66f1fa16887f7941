package org.apache.spark.sql.tidemark.exec.clocks

import org.apache.spark.TaskContext

/** What a task collects of its rows in plain fields, and hands on when it ends. */
private[exec] object TaskCollector {

  /** Hands `collector` to the task that calls this.
    *
    * @param flush takes what was collected to the accumulator, with the task's partition. A listener calls it, because a
    *   limit may stop the rows early. Spark takes nothing from a failed task
    */
  def begin[T](collector: T)(flush: Int => Unit): T = {
    Option(TaskContext.get()).foreach(task => task.addTaskCompletionListener[Unit](_ => flush(task.partitionId())))
    collector
  }
}
