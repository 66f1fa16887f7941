package org.apache.spark.sql.tidemark.query

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{Input, OperatorId, OriginName}
import io.tidemark.core.memory.Observation
import io.tidemark.core.splits.{MaxEventTimes, SplitNameTable}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.runtime.{MinWatermark, WatermarkTracker}
import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.exec.{LateRows, OperatorInputExec, SplitClocksExec}
import org.apache.spark.sql.tidemark.planning.LateRowFilters

/** Reads what a batch has seen when it has ended, before Spark counts it as done. */
private[tidemark] final class QueryTracker(
    takeover: Takeover,
    query: QueryWatermarks,
    plan: LogicalPlan,
    floorMillis: Long)
    extends WatermarkTracker(MinWatermark, plan) {

  private var reached = floorMillis

  /** Inputs that are idle are left out of it, and may return with less: it does not go back for that. Spark's own log keeps
    * it over a restart.
    */
  override def currentWatermark: Long = {
    reached = math.max(reached, query.sparkMillis)
    reached
  }

  // What another driver has ended in the meantime, on the same checkpoint, is its own: Spark stops this query for it a
  // moment later, when it finds the commit entry of the batch there.
  override def updateWatermark(executedPlan: SparkPlan): Unit =
    if (takeover.isCounted) query.abandon()
    else {
      if (takeover.mayBeTaken && isUnread(executedPlan)) takeover.runWithoutSink()
      ended(executedPlan)
    }

  // Operators with state have some work in every batch. Where there is none (or none that they tell of: sessions in complete
  // mode), one whose rows have no event time is run again in vain.
  private def isUnread(plan: SparkPlan): Boolean =
    writers(plan).forall(_.longMetric("numStateStoreInstances").value == 0) &&
      observed(plan).values.forall(_.times.isEmpty)

  private def ended(executedPlan: SparkPlan): Unit = {
    val inputs = collect(executedPlan) { case input: OperatorInputExec => input }
    val noted =
      inputs.flatMap(input => input.levels.input.zip(input.noted).map { case (at, notes) => at -> notes.value })
    val seen = Observation(observed(executedPlan), noted.toMap)
    query.batchEnded(takeover.batch.id, takeover.now, seen, lateRows(inputs))
    takeover.forgetRecalled()
    addDropped(executedPlan, inputs)
  }

  private def observed(plan: SparkPlan): Map[OriginName, Observation.OfOrigin] = {
    val clocks = collect(plan) { case clocks: SplitClocksExec => clocks }.groupBy(_.clocksId)
    val stats = collect(plan) { case origin: EventTimeWatermarkExec => origin }.groupBy(_.nodeId)
    query.origins.all.map { one =>
      val times = new MaxEventTimes
      // One origin may be in the plan twice; both have the same rows.
      clocks.get(one.clocks) match {
        case Some(nodes) =>
          requireLimits(one, nodes)
          nodes.foreach(node => times.merge(node.seen.whole(one.column), query.maxSplits))
        case None =>
          stats.getOrElse(one.nodeId, Nil).map(_.eventTimeStats.value).filter(_.count > 0).foreach { seen =>
            times.note(SplitNameTable.Whole, seen.max)
          }
      }
      one.name -> Observation.OfOrigin(
        times,
        one.rules.delayMillis,
        takeover.sources.toSeq.flatMap(_.known(one.name)),
        one.rules.idleAfterMillis.nonEmpty && takeover.sources.exists(_.waiting(one.name)),
        clocks.get(one.clocks).fold(0L)(_.map(_.seen.farAheadRows).max))
    }.toMap
  }

  /** Without them a row of the far future would have moved the clock. */
  private def requireLimits(one: PlanOrigin, nodes: Seq[SplitClocksExec]): Unit =
    if (nodes.exists(_.limits.isEmpty))
      throw new TidemarkException(TidemarkError.TakeoverFailed(
        query.label,
        s"the clocks of column '${one.column}' have no limit for event times ahead of the wall clock"))

  private def lateRows(inputs: Seq[OperatorInputExec]): Map[Input, LateRows] =
    inputs.flatMap(input => input.levels.input.zip(input.late.map(_.value))).groupMapReduce(_._1)(_._2)(_ + _)

  /** Rows that were dropped before an operator are added to what Spark says it dropped. */
  private def addDropped(plan: SparkPlan, inputs: Seq[OperatorInputExec]): Unit = {
    val dropped = lateRows(inputs.filter(_.filters)).toSeq.groupMapReduce(_._1.operator)(_._2.rows)(_ + _)
    writers(plan).foreach { writer =>
      val before = dropped.getOrElse(OperatorId(writer.stateInfo.get.operatorId), 0L)
      if (before > 0) LateRowFilters.countedIn(writer).longMetric("numRowsDroppedByWatermark").add(before)
    }
  }

  private def writers(plan: SparkPlan): Seq[StateStoreWriter] =
    collect(plan) { case writer: StateStoreWriter if writer.stateInfo.isDefined => writer }

  private def collect[A](plan: SparkPlan)(found: PartialFunction[SparkPlan, A]): Seq[A] =
    StreamingQueryPlanTraverseHelper.collectFromUnfoldedPlan(plan)(found)
}
