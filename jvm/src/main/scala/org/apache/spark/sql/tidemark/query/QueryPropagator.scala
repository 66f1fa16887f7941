package org.apache.spark.sql.tidemark.query

import io.tidemark.core.OperatorId
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.PropagateWatermarkSimulator

/** Answers what every stateful operator's watermark is, where Spark asks its own propagator.
  *
  * Spark and a query exchange these calls, in this order:
  *
  *   1. `onQueryStarted`: this propagator and the optimizer rule are put in place.
  *   1. The first planning: it is decided whether the query is left to Spark. Some of its settings come from its checkpoint
  *      and are only known now. If it is left to Spark, Spark's own propagation answers all further calls.
  *   1. `propagate(n+1)` at each trigger, with the plan of batch n: is a no-data batch worth running? At the start of a run
  *      [[AskAtStart]] makes that plan.
  *   1. `getInputWatermarkForEviction(n+1)`: `Long.MaxValue`, which is more than any operator has had, says that it is.
  *   1. Spark writes the offset log of batch n+1. From here on the batch's decision is fixed.
  *   1. `propagate(n)`: batch n+1 is being planned, and the file of its entry is created.
  *   1. `propagate(n+1)` with the new plan: the batch is decided.
  *   1. `getInputWatermarkForLateEvents(n+1)` and `getInputWatermarkForEviction(n+1)` for each operator.
  *   1. `ApplyWatermarks` writes what one number cannot say into the plan, and the batch runs.
  *   1. `QueryTracker.updateWatermark`: what the batch has seen becomes durable. Then Spark writes its commit entry.
  *   1. `purge`: there is nothing to forget, because only the last two batches are kept.
  *
  * `docs/inside.md` tells more of each step.
  */
private[tidemark] final class QueryPropagator(takeover: Takeover) extends PropagateWatermarkSimulator {
  import QueryLife._

  override def propagate(batchId: Long, plan: SparkPlan, originWatermark: Long): Unit =
    takeover.decide() match {
      case Running(watermarks, sources) => watermarks.propagate(batchId, plan, sources.start)
      case _: LeftToSpark => super.propagate(batchId, plan, originWatermark)
    }

  override def getInputWatermarkForLateEvents(batchId: Long, stateOpId: Long): Long =
    takeover.decide() match {
      case Running(watermarks, _) =>
        watermarks.plannedBatch(batchId).fold(0L)(batch => progress(batch.late, stateOpId))
      case _: LeftToSpark => super.getInputWatermarkForLateEvents(batchId, stateOpId)
    }

  override def getInputWatermarkForEviction(batchId: Long, stateOpId: Long): Long =
    takeover.decide() match {
      case Running(watermarks, _) =>
        watermarks.plannedBatch(batchId).fold(0L) { batch =>
          if (batch.wantsNoDataBatch) Long.MaxValue else progress(batch.eviction, stateOpId)
        }
      case _: LeftToSpark => super.getInputWatermarkForEviction(batchId, stateOpId)
    }

  override def purge(batchId: Long): Unit = takeover.decide() match {
    case _: Running => ()
    case _: LeftToSpark => super.purge(batchId)
  }

  private def progress(watermarks: OperatorWatermarks, operator: Long): Long =
    watermarks.progress(OperatorId(operator)).getOrElse(0L)
}
