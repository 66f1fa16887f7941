package org.apache.spark.sql.tidemark

import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, WatermarkPropagator, WatermarkTracker}

/** The two fields of Spark's query execution that Tidemark replaces, and that Spark keeps to itself. */
private[tidemark] object SparkInternals {

  def propagator(execution: MicroBatchExecution): WatermarkPropagator =
    propagatorField.get(execution).asInstanceOf[WatermarkPropagator]

  def setPropagator(execution: MicroBatchExecution, propagator: WatermarkPropagator): Unit =
    propagatorField.set(execution, propagator)

  def tracker(execution: MicroBatchExecution): WatermarkTracker =
    trackerField.get(execution).asInstanceOf[WatermarkTracker]

  def setTracker(execution: MicroBatchExecution, tracker: WatermarkTracker): Unit =
    trackerField.set(execution, tracker)

  // Declared in MicroBatchExecution; the execution may be of a subclass.
  private lazy val propagatorField = field("watermarkPropagator")
  private lazy val trackerField = field("watermarkTracker")

  private def field(name: String) = {
    val found = classOf[MicroBatchExecution].getDeclaredField(name)
    found.setAccessible(true)
    found
  }
}
