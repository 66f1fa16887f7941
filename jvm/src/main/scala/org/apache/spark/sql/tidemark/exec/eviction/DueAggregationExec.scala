package org.apache.spark.sql.tidemark.exec.eviction

import io.tidemark.core.Side

import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.OutputMode

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
    val due: WindowSchedule,
    // A parameter, because Spark's constructor may use it.
    override private[sql] val stateManager: DueAggregationExec.Manager)
    extends StateStoreSaveExec(
      keyExpressions,
      stateInfo,
      outputMode,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      stateFormatVersion,
      child)
    with SkipsScans {

  /** What this batch has seen of its state, when it has ended. */
  def scan: StateScan = stateManager.scan

  private def hasWindowsOffGrid = scan.hasWindowsOffGrid

  override def unscanned: Set[Side] = if (due.scan == WindowSchedule.Skipped) Set(Side.Left) else Set.empty

  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    super.shouldRunAnotherBatch(newInputWatermark) && (due.isAskedFor(newInputWatermark) || hasWindowsOffGrid)

  override def nodeName: String = "StateStoreSave"

  override def simpleString(maxFields: Int): String = s"${super.simpleString(maxFields)}, $due"

  // Spark keeps a node that a rule replaces by an equal one, and its operator must not be equal to this one.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[DueAggregationExec]

  override def equals(that: Any): Boolean = that match {
    case other: DueAggregationExec => super.equals(other) && due == other.due
    case _ => false
  }

  override def hashCode: Int = super.hashCode

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(due, stateManager)

  override protected def withNewChildInternal(newChild: SparkPlan): DueAggregationExec =
    DueAggregationExec.of(this, newChild, due)
}

private[tidemark] object DueAggregationExec {

  /** Replaces Spark's operator. */
  def of(save: StateStoreSaveExec, child: SparkPlan, due: WindowSchedule): DueAggregationExec =
    new DueAggregationExec(
      save.keyExpressions,
      save.stateInfo,
      save.outputMode,
      save.eventTimeWatermarkForLateEvents,
      save.eventTimeWatermarkForEviction,
      save.stateFormatVersion,
      child,
      due,
      manager(save.keyExpressions, child.output, save.stateFormatVersion, due))

  /** What the operator does with state. Spark opens an iterator over all of it only to find what is due. */
  sealed trait Scanned {
    def scan: StateScan
  }
  type Manager = StreamingAggregationStateManagerBaseImpl with Scanned

  private def manager(keys: Seq[Attribute], input: Seq[Attribute], version: Int, due: WindowSchedule): Manager = {
    val window = keys(due.keyOrdinal).exprId
    val scan = new StateScan(due, input.indexWhere(_.exprId == window))
    if (version == 1) new ManagerV1(keys, input, scan) else new ManagerV2(keys, input, scan)
  }

  // In append mode Spark scans the pairs, in update mode the keys.
  private final class ManagerV1(keys: Seq[Attribute], input: Seq[Attribute], val scan: StateScan)
      extends StreamingAggregationStateManagerImplV1(keys, input)
      with Scanned {
    override def put(store: StateStore, row: UnsafeRow): Unit = {
      scan.write(row)
      super.put(store, row)
    }
    override def iterator(store: ReadStateStore): Iterator[UnsafeRowPair] = scan.over(super.iterator(store))(_.key)
    override def keys(store: ReadStateStore): Iterator[UnsafeRow] = scan.over(super.keys(store))(identity)
  }

  private final class ManagerV2(keys: Seq[Attribute], input: Seq[Attribute], val scan: StateScan)
      extends StreamingAggregationStateManagerImplV2(keys, input)
      with Scanned {
    override def put(store: StateStore, row: UnsafeRow): Unit = {
      scan.write(row)
      super.put(store, row)
    }
    override def iterator(store: ReadStateStore): Iterator[UnsafeRowPair] = scan.over(super.iterator(store))(_.key)
    override def keys(store: ReadStateStore): Iterator[UnsafeRow] = scan.over(super.keys(store))(identity)
  }
}
