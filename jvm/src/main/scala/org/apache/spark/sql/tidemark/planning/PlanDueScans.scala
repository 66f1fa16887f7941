package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{EventTimeUnits, OperatorId}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.{StateStoreSaveExec, StateStoreWriter}
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, LateRowRule}
import org.apache.spark.sql.tidemark.exec.eviction.{DueAggregationExec, WindowSchedule}
import org.apache.spark.sql.tidemark.functions.WatermarkExpression
import org.apache.spark.sql.types.StructType

/** Lets aggregations by windows scan their state only if a window may have ended, and ask for a no-data batch only then.
  *
  * No row differs. A window is due in a batch if it ends after the watermark of the batch before and not after this
  * batch's. Windows that end earlier have left the state: this run has scanned it since, and their later rows are late.
  */
private[tidemark] object PlanDueScans {

  def in(plan: SparkPlan, watermarks: BatchWatermarks): SparkPlan = {
    val found = plan.collect { case save: StateStoreSaveExec => due(save, watermarks).map(id(save) -> _) }
    val windows = found.flatten.toMap
    if (windows.isEmpty) plan
    else {
      val runsOnlyWhenDue = !plan.exists(needsEachAdvance(_, windows.keySet))
      plan.transformUp {
        case save: StateStoreSaveExec if windows.contains(id(save)) =>
          val due = windows(id(save)).copy(runsOnlyWhenDue = runsOnlyWhenDue)
          save match {
            case same: DueAggregationExec if same.due == due => same
            case _ => DueAggregationExec.of(save, save.child, due)
          }
      }
    }
  }

  /** `None` for an aggregation that groups by something else than windows that the plan makes. */
  private def due(save: StateStoreSaveExec, watermarks: BatchWatermarks): Option[WindowSchedule] = {
    val known = watermarks.windows.get(OperatorId(id(save)))
    for {
      before <- save.eventTimeWatermarkForLateEvents
      now <- save.eventTimeWatermarkForEviction
      if ChooseLateRowRule.of(save) == LateRowRule.Aggregation && known.forall(_.nonEmpty)
      column <- save.keyExpressions.find(a => EventTimeMarks.isMarked(a) && a.dataType.isInstanceOf[StructType])
      if save.child.output.find(EventTimeMarks.isMarked).exists(_.exprId == column.exprId)
      // Spark leaves empty inputs of a union out of a batch. Their windows stay in state.
      grid <- WindowEnds.of(save.child, column.exprId).map(grid => known.flatten.fold(grid)(_ ++ grid))
      first <- grid.next(EventTimeUnits.micros(before))
      isDue = first <= EventTimeUnits.micros(now)
      next <- if (isDue) grid.next(EventTimeUnits.micros(now)) else Some(first)
    } yield {
      val scan =
        if (known.isEmpty) WindowSchedule.First else if (isDue) WindowSchedule.Whole else WindowSchedule.Skipped
      val ordinal = save.keyExpressions.indexOf(column)
      WindowSchedule(
        ordinal,
        grid,
        EventTimeUnits.micros(now),
        next,
        scan,
        watermarks.evicts(save),
        runsOnlyWhenDue = false)
    }
  }

  /** Whether something in the plan needs each advance of the watermark, and does not ask for a no-data batch itself. It may
    * be an operator that drops late rows, or an expression that reads a watermark.
    */
  private def needsEachAdvance(node: SparkPlan, windows: Set[Long]): Boolean = node match {
    case writer: StateStoreWriter if windows(id(writer)) => false
    case writer: StateStoreWriter => dropsLateRows(writer) && !writer.shouldRunAnotherBatch(Long.MaxValue)
    case other => WatermarkExpression.isIn(other)
  }

  private def dropsLateRows(writer: StateStoreWriter): Boolean = {
    val filter = ChooseLateRowRule.of(writer)
    Seq(filter.withInput, filter.withoutInput).exists(_ != LateRowRule.Dropper.Nothing)
  }

  private def id(writer: StateStoreWriter): Long = writer.stateInfo.get.operatorId
}
