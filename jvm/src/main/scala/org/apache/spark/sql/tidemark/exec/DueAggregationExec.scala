package org.apache.spark.sql.tidemark.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.metric.SQLMetrics
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.util.LongAccumulator

/** Spark's aggregation by windows, which scans its state only if a window in it may have ended.
  *
  * Spark's own operator tests every key in state in every batch, and asks for a no-data batch whenever the watermark has
  * advanced. The ends of windows lie on a grid, so between two of them nothing can be due. This subclass skips both
  * then, and code that looks for Spark's node finds it.
  *
  * @param due when the next window ends, and what this batch does until then
  */
final class DueAggregationExec private[tidemark] (
    keyExpressions: Seq[Attribute],
    stateInfo: Option[StatefulOperatorStateInfo],
    outputMode: Option[OutputMode],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    stateFormatVersion: Int,
    child: SparkPlan,
    val due: WindowsDue)
    extends StateStoreSaveExec(
      keyExpressions,
      stateInfo,
      outputMode,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      stateFormatVersion,
      child) {
  import DueAggregationExec._

  /** How many windows in state do not end when they should by the plan; counted in the first batch of a run. */
  val strangers: LongAccumulator = sparkContext.longAccumulator

  // Spark opens one iterator over the state in append mode, and another in update mode, only to find what is due.
  override private[sql] val stateManager: StreamingAggregationStateManager = {
    val scan = StateScan.of(due, keyExpressions, strangers)
    if (stateFormatVersion == 1) new ScannedV1(keyExpressions, child.output, scan)
    else new ScannedV2(keyExpressions, child.output, scan)
  }

  override protected def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    StatefulOperatorCustomSumMetric(SkippedScans, "number of state scans skipped, as no window was due") +:
      super.customStatefulOperatorMetrics

  override protected def doExecute(): RDD[InternalRow] = {
    if (due.scan == WindowsDue.Skipped) {
      longMetric(SkippedScans).set(1)
      val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
      SQLMetrics.postDriverMetricUpdates(sparkContext, execution, Seq(longMetric(SkippedScans)))
    }
    super.doExecute()
  }

  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    super.shouldRunAnotherBatch(newInputWatermark) && (due.isAskedFor(newInputWatermark) || !strangers.isZero)

  override def nodeName: String = "StateStoreSave"

  override def simpleString(maxFields: Int): String = s"${super.simpleString(maxFields)}, $due"

  // Spark keeps a node that a rule replaces by an equal one, and its operator must not be equal to this one.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[DueAggregationExec]

  override def equals(that: Any): Boolean = that match {
    case other: DueAggregationExec => super.equals(other) && due == other.due
    case _ => false
  }

  override def hashCode: Int = super.hashCode

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(due)

  override protected def withNewChildInternal(newChild: SparkPlan): DueAggregationExec =
    DueAggregationExec.of(this, newChild, due)
}

private[tidemark] object DueAggregationExec {

  /** The metric of the operator, in Spark's progress too: 1 in a batch that did not scan the state. */
  val SkippedScans = "skippedStateScans"

  /** Replaces Spark's operator. */
  def of(save: StateStoreSaveExec, child: SparkPlan, due: WindowsDue): DueAggregationExec =
    new DueAggregationExec(
      save.keyExpressions,
      save.stateInfo,
      save.outputMode,
      save.eventTimeWatermarkForLateEvents,
      save.eventTimeWatermarkForEviction,
      save.stateFormatVersion,
      child,
      due)

  private final class ScannedV1(keys: Seq[Attribute], input: Seq[Attribute], scan: StateScan)
      extends StreamingAggregationStateManagerImplV1(keys, input) {
    override def iterator(store: ReadStateStore): Iterator[UnsafeRowPair] = scan.over(super.iterator(store))(_.key)
    override def keys(store: ReadStateStore): Iterator[UnsafeRow] = scan.over(super.keys(store))(identity)
  }

  private final class ScannedV2(keys: Seq[Attribute], input: Seq[Attribute], scan: StateScan)
      extends StreamingAggregationStateManagerImplV2(keys, input) {
    override def iterator(store: ReadStateStore): Iterator[UnsafeRowPair] = scan.over(super.iterator(store))(_.key)
    override def keys(store: ReadStateStore): Iterator[UnsafeRow] = scan.over(super.keys(store))(identity)
  }
}
