package org.apache.spark.sql.tidemark.stream

import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution

/** When a run began, beside the offsets of the batches that it begins, in Spark's own log.
  *
  * That log has room for settings, and Spark ignores those that it does not know. So Spark writes the time together with what
  * a batch is to read, in one step. If several runs try to begin a batch, the log has the time of the one that did.
  */
private[tidemark] object RunStart {
  private val Key = "tidemark.runStartMillis"

  /** When the run began that has begun a batch (ms); `None` if it has not said so. */
  def of(execution: MicroBatchExecution, batch: Long): Option[Long] =
    execution.offsetLog.offsetSeqMetadataForBatchId(batch).flatMap(_.conf.get(Key)).flatMap(_.toLongOption)

  /** Has Spark write it with each batch that this run begins. Called before the first one. */
  def note(execution: MicroBatchExecution, millis: Long): Unit = {
    val context = execution.getLatestExecutionContext()
    if (!context.offsetSeqMetadata.conf.contains(Key))
      context.offsetSeqMetadata = BatchMetadata.withSetting(context.offsetSeqMetadata, Key, millis.toString)
  }
}
