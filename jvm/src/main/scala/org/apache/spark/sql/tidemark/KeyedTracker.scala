package org.apache.spark.sql.tidemark

import io.tidemark.core._

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeWatermarkExec, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.runtime.{MinWatermark, WatermarkTracker}

/** Reads what a batch has seen when it has ended, before Spark counts it as done. */
private[tidemark] final class KeyedTracker(takeover: Takeover, query: KeyedQuery, plan: LogicalPlan, floorMillis: Long)
    extends WatermarkTracker(MinWatermark, plan) {

  override def currentWatermark: Long = math.max(floorMillis, query.sparkMillis)

  override def updateWatermark(executedPlan: SparkPlan): Unit = {
    val newest = collect(executedPlan) { case origin: EventTimeWatermarkExec => origin }
      .filter(_.eventTimeStats.value.count > 0)
      .groupMapReduce(origin => query.origins.name(origin.nodeId))(origin =>
        Observation.Newest(origin.eventTimeStats.value.max, origin.delayMs))((a, b) =>
        if (a.maxEventTimeMillis >= b.maxEventTimeMillis) a else b)
    val inputs = collect(executedPlan) { case input: OperatorInputExec => input }
    val noted = inputs.flatMap(input => input.levels.input.zip(input.noted).map { case (at, notes) => at -> notes.value })
    val batch = takeover.batch
    query.ended(batch.id, batch.timestampMillis, Observation(newest, noted.toMap))
    countLate(executedPlan, inputs)
  }

  /** Rows that were dropped before an operator are among those that Spark says it dropped. */
  private def countLate(plan: SparkPlan, inputs: Seq[OperatorInputExec]): Unit = {
    val late = inputs.flatMap(input => input.levels.input.map(_.operator.value -> input.lateRows)).filter(_._2 > 0)
    val byOperator = late.groupMapReduce(_._1)(_._2)(_ + _)
    if (byOperator.nonEmpty)
      collect(plan) { case writer: StateStoreWriter => writer }.foreach { writer =>
        writer.stateInfo.flatMap(info => byOperator.get(info.operatorId)).foreach { rows =>
          writer.longMetric("numRowsDroppedByWatermark").add(rows)
        }
      }
  }

  private def collect[A](plan: SparkPlan)(found: PartialFunction[SparkPlan, A]): Seq[A] =
    StreamingQueryPlanTraverseHelper.collectFromUnfoldedPlan(plan)(found)
}
