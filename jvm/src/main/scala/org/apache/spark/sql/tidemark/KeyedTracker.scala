package org.apache.spark.sql.tidemark

import io.tidemark.core._

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper
import org.apache.spark.sql.execution.streaming.operators.stateful._
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
    val noted =
      inputs.flatMap(input => input.levels.input.zip(input.noted).map { case (at, notes) => at -> notes.value })
    val batch = takeover.batch
    query.ended(batch.id, batch.timestampMillis, Observation(newest, noted.toMap))
    query.countLate(lateRows(executedPlan, inputs))
  }

  /** Late rows by operator; those that were dropped before an operator are added to what Spark says it dropped. */
  private def lateRows(plan: SparkPlan, inputs: Seq[OperatorInputExec]): Map[OperatorId, Long] = {
    val before =
      inputs.flatMap(input => input.levels.input.map(_.operator -> input.lateRows)).groupMapReduce(_._1)(_._2)(_ + _)
    collect(plan) { case writer: StateStoreWriter if writer.stateInfo.isDefined => writer }.map { writer =>
      val operator = OperatorId(writer.stateInfo.get.operatorId)
      before.get(operator).filter(_ > 0).foreach(counting(writer).longMetric("numRowsDroppedByWatermark").add)
      operator -> writer.getProgress().numRowsDroppedByWatermark
    }.toMap
  }

  /** The node in which Spark counts an operator's late rows. */
  private def counting(writer: StateStoreWriter): SparkPlan = writer match {
    case sessions: SessionWindowStateStoreSaveExec =>
      sessions.collectFirst { case restore: SessionWindowStateStoreRestoreExec => restore }.getOrElse(sessions)
    case other => other
  }

  private def collect[A](plan: SparkPlan)(found: PartialFunction[SparkPlan, A]): Seq[A] =
    StreamingQueryPlanTraverseHelper.collectFromUnfoldedPlan(plan)(found)
}
