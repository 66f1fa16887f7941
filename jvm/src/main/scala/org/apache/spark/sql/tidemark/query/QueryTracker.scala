package org.apache.spark.sql.tidemark.query

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{Input, OperatorId, OriginName}
import io.tidemark.core.memory.Observation
import io.tidemark.core.splits.MaxEventTimes
import io.tidemark.core.why.Situation

import org.apache.spark.sql.execution.{SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.streaming.{Sink, StreamingQueryPlanTraverseHelper}
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, MinWatermark, WatermarkTracker}
import org.apache.spark.sql.tidemark.batch.KnownState
import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.exec.{LateRows, OperatorInputExec, SplitClocksExec}
import org.apache.spark.sql.tidemark.exec.calls.CallMetricsExec
import org.apache.spark.sql.tidemark.planning.ChooseLateRowRule
import org.apache.spark.sql.tidemark.sources.SourceBacklog

/** Reads what a batch has seen when it has ended, before Spark commits it.
  *
  * @param floorMillis the query's watermark in Spark's own log
  */
private[tidemark] final class QueryTracker(
    execution: MicroBatchExecution,
    query: QueryWatermarks,
    sources: SourceBacklog,
    start: StartOfRun,
    floorMillis: Long)
    extends WatermarkTracker(MinWatermark, execution.analyzedPlan) {

  private var reached = floorMillis

  /** The minimum leaves out idle inputs, which may return with less. It does not go back for that. Spark's own log keeps it
    * over a restart.
    */
  override def currentWatermark: Long = {
    reached = math.max(reached, query.sparkMillis)
    reached
  }

  // Another driver on the same checkpoint may have ended the batch in the meantime, and then its entry stays. Spark stops
  // this query a moment later, when it finds the commit entry of the batch.
  override def updateWatermark(executedPlan: SparkPlan): Unit =
    if (isCommitted) query.abandon()
    else {
      if (sinkMayHaveCommitted && isUnread(executedPlan)) runWithoutSink()
      ended(executedPlan)
    }

  private def isCommitted: Boolean = execution.commitLog.get(sources.batch).nonEmpty

  /** Whether the sink may have skipped the batch, and so left it unread, because an earlier run has begun it. Sinks of the
    * newer kind cannot: they are part of the plan.
    */
  private def sinkMayHaveCommitted: Boolean = execution.sink.isInstanceOf[Sink] && start.isRunAgain(sources.batch)

  /** Runs the batch again to read its event times. */
  private def runWithoutSink(): Unit = {
    val unread = execution.lastExecution
    logWarning(
      s"${query.label}: an earlier run began batch ${sources.batch}, and the sink has skipped it as already written. " +
        "Tidemark runs the batch again without the sink, to read its event times.")
    SQLExecution.withNewExecutionId(unread)(unread.toRdd.foreach(_ => ()))
  }

  // Operators with state have some work in every batch. If a plan has none of them (or only sessions in complete mode, which
  // report no work), a batch whose rows have no event time is run again for nothing.
  private def isUnread(plan: SparkPlan): Boolean =
    writers(plan).forall(_.longMetric("numStateStoreInstances").value == 0) &&
      observed(plan).values.forall(_.latestMillis.isEmpty)

  private def ended(executedPlan: SparkPlan): Unit = {
    val inputs = collect(executedPlan) { case input: OperatorInputExec => input }
    val noted =
      inputs.flatMap(input =>
        input.watermarks.input.zip(input.carriedMinima).map { case (at, minima) => at -> minima.value })
    val seen = Observation(observed(executedPlan), noted.toMap)
    val ofState = KnownState.ofBatch(
      writers(executedPlan),
      collect(executedPlan) { case calls: CallMetricsExec => calls })
    val endMillis = execution.triggerClock.getTimeMillis()
    val (passing, dropping) = inputs.partition(_.watermarks.passes)
    val late = LateRows.BatchLateRows(lateRows(dropping), lateRows(passing))
    query.batchEnded(sources.batch, endMillis, seen, late, rowsOf(inputs), ofState)
    addDropped(executedPlan, inputs)
  }

  private def observed(plan: SparkPlan): Map[OriginName, Observation.OriginObservation] = {
    val clocks = collect(plan) { case clocks: SplitClocksExec => clocks }.groupBy(_.clocksId)
    val stats = collect(plan) { case origin: EventTimeWatermarkExec => origin }.groupBy(_.nodeId)
    query.origins.all.map { origin =>
      val times = clocks.get(origin.clocks) match {
        case Some(nodes) =>
          requireLimits(origin, nodes)
          together(nodes.map(_.seen.whole(origin.column)))
        case None =>
          together(stats.getOrElse(origin.nodeId, Nil).map(_.eventTimeStats.value).filter(_.count > 0).map(seen =>
            MaxEventTimes.whole(seen.max)))
      }
      val seen =
        if (origin.rules.noted.nonEmpty)
          Observation.OriginObservation.noted(query.marksOf(origin), origin.rules.delayMillis, times.max)
        else
          Observation.OriginObservation(
            times,
            origin.rules.delayMillis,
            sources.known(origin.name),
            origin.rules.idleAfterMillis.nonEmpty && sources.waiting(origin.name),
            clocks.get(origin.clocks).fold(0L)(_.map(_.seen.farAheadRows).max))
      origin.name -> seen
    }.toMap
  }

  /** An origin may be in the plan twice. Both have the same rows. */
  private def together(all: Seq[MaxEventTimes]): MaxEventTimes = all match {
    case Seq(times) => times
    case several =>
      val times = new MaxEventTimes
      several.foreach(times.merge(_, query.maxSplits))
      times
  }

  /** Without a limit, a row of the far future would have moved the clock. */
  private def requireLimits(origin: PlanOrigin, nodes: Seq[SplitClocksExec]): Unit =
    if (nodes.exists(_.limits.isEmpty))
      throw new TidemarkException(TidemarkError.TakeoverFailed(
        query.label,
        s"the clocks of column '${origin.column}' have no limit for event times ahead of the wall clock"))

  private def lateRows(inputs: Seq[OperatorInputExec]): Map[Input, LateRows] =
    inputs.flatMap(input => input.watermarks.input.zip(input.late.map(_.value))).groupMapReduce(_._1)(_._2)(_ + _)

  private def rowsOf(inputs: Seq[OperatorInputExec]): Map[Input, Situation.Rows] =
    inputs.flatMap { input =>
      val late = input.late.filterNot(_ => input.watermarks.passes).fold(LateRows.none)(_.value)
      val passed = input.longMetric("numOutputRows").value
      val all = if (input.filters) passed + late.rows else passed
      input.watermarks.input.map(_ -> Situation.Rows(all, late.rows, late.mostMillis))
    }.groupMapReduce(_._1)(_._2)(_ and _)

  /** Adds the rows that were dropped before an operator to those that Spark says it dropped. */
  private def addDropped(plan: SparkPlan, inputs: Seq[OperatorInputExec]): Unit = {
    val dropped = lateRows(inputs.filter(_.filters)).toSeq.groupMapReduce(_._1.operator)(_._2.rows)(_ + _)
    writers(plan).foreach { writer =>
      val before = dropped.getOrElse(OperatorId(writer.stateInfo.get.operatorId), 0L)
      if (before > 0) ChooseLateRowRule.countedIn(writer).longMetric("numRowsDroppedByWatermark").add(before)
    }
  }

  private def writers(plan: SparkPlan): Seq[StateStoreWriter] =
    collect(plan) { case writer: StateStoreWriter if writer.stateInfo.isDefined => writer }

  private def collect[A](plan: SparkPlan)(found: PartialFunction[SparkPlan, A]): Seq[A] =
    StreamingQueryPlanTraverseHelper.collectFromUnfoldedPlan(plan)(found)
}
