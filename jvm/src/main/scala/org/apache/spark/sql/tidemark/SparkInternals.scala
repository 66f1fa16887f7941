package org.apache.spark.sql.tidemark

import org.apache.spark.sql.connector.read.streaming.{ReadLimit, SparkDataStream}
import org.apache.spark.sql.execution.streaming.runtime._

/** The fields of Spark's query execution that Tidemark replaces or reads, and that Spark keeps to itself. */
private[tidemark] object SparkInternals {

  def propagator(execution: MicroBatchExecution): WatermarkPropagator =
    propagatorField.get(execution).asInstanceOf[WatermarkPropagator]

  def setPropagator(execution: MicroBatchExecution, propagator: WatermarkPropagator): Unit =
    propagatorField.set(execution, propagator)

  def tracker(execution: MicroBatchExecution): WatermarkTracker =
    trackerField.get(execution).asInstanceOf[WatermarkTracker]

  def setTracker(execution: MicroBatchExecution, tracker: WatermarkTracker): Unit =
    trackerField.set(execution, tracker)

  /** How much of a source a batch may read. */
  def readLimit(execution: MicroBatchExecution, stream: SparkDataStream): Option[ReadLimit] =
    limits.invoke(execution).asInstanceOf[Map[SparkDataStream, ReadLimit]].collectFirst {
      case (wrapper: AvailableNowDataStreamWrapper, limit) if wrapper.delegate eq stream => limit
      case (source, limit) if source eq stream => limit
    }

  private lazy val limits = {
    val found = classOf[StreamExecution].getDeclaredMethod("uniqueSources")
    found.setAccessible(true)
    found
  }

  // Declared in MicroBatchExecution; the execution may be of a subclass.
  private lazy val propagatorField = field("watermarkPropagator")
  private lazy val trackerField = field("watermarkTracker")

  private def field(name: String) = {
    val found = classOf[MicroBatchExecution].getDeclaredField(name)
    found.setAccessible(true)
    found
  }
}
