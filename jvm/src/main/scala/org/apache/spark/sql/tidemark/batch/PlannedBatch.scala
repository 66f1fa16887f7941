package org.apache.spark.sql.tidemark.batch

import java.util.UUID

import io.tidemark.core.OriginName
import io.tidemark.core.memory.{BatchStart, Observation}
import io.tidemark.core.plan.{Decision, OperatorWatermarks}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.tidemark.functions.WatermarkExpression
import org.apache.spark.sql.tidemark.planning.WatermarkTarget

/** A batch as it was decided last. Until its offsets are written, each trigger may decide it again.
  *
  * @param plan Spark's plan: of this batch, or of the batch before while Spark asks whether to run a no-data batch. `None`
  *   once the batch has ended, as a plan may hold much memory
  * @param start when the batch began, and which rows it is about to read
  * @param late the operators' watermarks of the batch before, by which rows of this batch are late
  * @param eviction the operators' watermarks of this batch, by which state is evicted
  * @param readings the watermarks that expressions of the plan read, by the expressions' ids
  * @param outputs where the plan has the watermarks that the query notes
  * @param silentUntil up to when the triggers of this run have found no rows of an origin (ms). Most triggers run no batch
  * @param news what a no-data batch would find in mark logs, if Spark has asked for one
  * @param wantsNoDataBatch whether the batch is worth running without data, if Spark has asked
  */
private[tidemark] final case class PlannedBatch(
    batch: Long,
    plan: Option[SparkPlan],
    start: BatchStart,
    decision: Decision,
    late: OperatorWatermarks,
    eviction: OperatorWatermarks,
    readings: Map[UUID, WatermarkExpression.State],
    outputs: Map[UUID, WatermarkTarget.Column],
    silentUntil: Map[OriginName, Long],
    news: Map[OriginName, Observation.OriginObservation],
    wantsNoDataBatch: Boolean) {

  /** Whether nothing that the watermarks depend on has changed. */
  def isFor(plan: SparkPlan, decision: Decision, news: Map[OriginName, Observation.OriginObservation]): Boolean =
    this.plan.exists(_ eq plan) && decision == this.decision && marks(news) == marks(this.news)

  private def marks(news: Map[OriginName, Observation.OriginObservation]) = news.view.mapValues(_.marks).toMap
}
