package org.apache.spark.sql.tidemark.stream

import java.lang.reflect.AccessibleObject

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.streaming.{ReadLimit, SparkDataStream}
import org.apache.spark.sql.execution.streaming.OneTimeTrigger
import org.apache.spark.sql.execution.streaming.runtime._
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.stream.SparkTypes.ErrorNotifier

/** What Tidemark replaces or reads in Spark's query execution; Spark keeps most of it private. */
private[tidemark] object SparkInternals {

  /** A batch, and its processing time (ms) and the query's watermark (ms) in Spark's log. */
  final case class Batch(id: Long, timestampMillis: Long, watermarkMillis: Long)

  /** The batch that is being planned or run. */
  def batch(execution: MicroBatchExecution): Batch = {
    val context = execution.getLatestExecutionContext()
    Batch(context.batchId, context.offsetSeqMetadata.batchTimestampMs, context.offsetSeqMetadata.batchWatermarkMs)
  }

  /** The session of this query alone, which Spark 4.0 does not expose. */
  def session(execution: StreamExecution): SparkSession =
    sessions.invoke(execution).asInstanceOf[SparkSession]

  def propagator(execution: MicroBatchExecution): WatermarkPropagator =
    propagatorField.get(execution).asInstanceOf[WatermarkPropagator]

  def setPropagator(execution: MicroBatchExecution, propagator: WatermarkPropagator): Unit =
    propagatorField.set(execution, propagator)

  def tracker(execution: MicroBatchExecution): WatermarkTracker =
    trackerField.get(execution).asInstanceOf[WatermarkTracker]

  def setTracker(execution: MicroBatchExecution, tracker: WatermarkTracker): Unit =
    trackerField.set(execution, tracker)

  def setErrorNotifier(execution: MicroBatchExecution, notifier: ErrorNotifier): Unit =
    notifierField.set(execution, notifier)

  /** How much of a source a batch may read. */
  def readLimit(execution: MicroBatchExecution, stream: SparkDataStream): Option[ReadLimit] =
    limits.invoke(execution).asInstanceOf[Map[SparkDataStream, ReadLimit]].collectFirst {
      case (wrapper: AvailableNowDataStreamWrapper, limit) if wrapper.delegate eq stream => limit
      case (source, limit) if source eq stream => limit
    }

  /** Whether the run reads the rows that had arrived when it began, and then ends. */
  def isForWhatIsAvailable(execution: MicroBatchExecution): Boolean = execution.trigger == Trigger.AvailableNow()

  /** Whether the run ends by itself, so that nothing can be left to its later triggers. */
  def endsByItself(execution: MicroBatchExecution): Boolean =
    isForWhatIsAvailable(execution) || execution.trigger == OneTimeTrigger

  /** The path that a source of files reads, which may contain wildcards. */
  def basePath(source: FileStreamSource): Path = basePaths.get(source).asInstanceOf[Path]

  private lazy val basePaths = accessible(classOf[FileStreamSource].getDeclaredField("qualifiedBasePath"))
  private lazy val sessions = accessible(classOf[StreamExecution].getDeclaredMethod("sparkSessionForStream"))
  private lazy val limits = accessible(classOf[StreamExecution].getDeclaredMethod("uniqueSources"))

  // The fields are declared in MicroBatchExecution, but the execution may be of a subclass.
  private lazy val propagatorField = accessible(classOf[MicroBatchExecution].getDeclaredField("watermarkPropagator"))
  private lazy val notifierField = accessible(classOf[MicroBatchExecution].getDeclaredField("errorNotifier"))
  private lazy val trackerField = accessible(classOf[MicroBatchExecution].getDeclaredField("watermarkTracker"))

  private def accessible[A <: AccessibleObject](member: A): A = {
    member.setAccessible(true)
    member
  }
}
