package org.apache.spark.sql.tidemark.exec

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, StreamExecution}

/** Tells the tasks of an RDD which batch they belong to, by what Spark itself tells them when the query's own thread runs
  * them. On Spark Connect, the actions of `foreachBatch` run in other threads. Ids of calls are made of it.
  */
private[exec] final class BatchOfTasks(rows: RDD[InternalRow], batch: Seq[(String, String)])
    extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = rows.partitions

  override def compute(part: Partition, task: TaskContext): Iterator[InternalRow] = {
    // Of this task alone. Before the rows are asked for, as that starts a worker of Python, which is sent them.
    batch.foreach { case (key, value) => task.getLocalProperties.setProperty(key, value) }
    rows.iterator(part, task)
  }
}

private[exec] object BatchOfTasks {

  /** The same rows, if this thread plans a batch of a streaming query. */
  def withBatch(rows: RDD[InternalRow]): RDD[InternalRow] = {
    val batch = Seq(StreamExecution.QUERY_ID_KEY, MicroBatchExecution.BATCH_ID_KEY).flatMap { key =>
      Option(rows.sparkContext.getLocalProperty(key)).map(key -> _)
    }
    if (batch.isEmpty) rows else new BatchOfTasks(rows, batch)
  }
}
