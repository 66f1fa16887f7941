package org.apache.spark.sql.tidemark.query

import io.tidemark.core.OperatorId

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.PropagateWatermarkSimulator

/** Spark's way of asking what every stateful operator's watermark is, answered from the keyed watermarks.
  *
  * The query may turn out to be left to Spark (its settings come back from the checkpoint after this is in place); then
  * Spark's own propagation answers.
  */
private[tidemark] final class QueryPropagator(takeover: Takeover) extends PropagateWatermarkSimulator {

  override def propagate(batchId: Long, plan: SparkPlan, originWatermark: Long): Unit =
    takeover.query.fold(super.propagate(batchId, plan, originWatermark))(_.propagate(batchId, plan, takeover.start))

  override def getInputWatermarkForLateEvents(batchId: Long, stateOpId: Long): Long =
    takeover.query.fold(super.getInputWatermarkForLateEvents(batchId, stateOpId))(progress(_, batchId - 1, stateOpId))

  override def getInputWatermarkForEviction(batchId: Long, stateOpId: Long): Long =
    takeover.query.fold(super.getInputWatermarkForEviction(batchId, stateOpId)) { query =>
      // More than any operator has had: that is how Spark is told that a batch without data is wanted.
      if (query.wantsBatch(batchId)) Long.MaxValue else progress(query, batchId, stateOpId)
    }

  override def purge(batchId: Long): Unit =
    takeover.query.fold(super.purge(batchId))(_.purge(batchId))

  private def progress(query: QueryWatermarks, batch: Long, operator: Long): Long =
    query.levelsOf(batch).flatMap(_.progress(OperatorId(operator))).getOrElse(0L)
}
