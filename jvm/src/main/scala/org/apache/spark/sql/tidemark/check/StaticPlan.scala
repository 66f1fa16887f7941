package org.apache.spark.sql.tidemark.check

import java.util.UUID

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, WatermarkPropagator}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.optimizer.{InsertOperatorInputs, InsertOrders}
import org.apache.spark.sql.tidemark.planning.PlanShapeBuilder
import org.apache.spark.sql.tidemark.session.SessionConf

/** The plan of a query, made by the rules that make the plans of its batches. Nothing is run. */
private[tidemark] object StaticPlan {

  /** The plan of a query that has not started.
    * @throws io.tidemark.TidemarkException if the query would be refused
    */
  def of(
      session: SparkSession,
      analyzed: LogicalPlan,
      mode: OutputMode,
      origins: OriginsOfPlan): PlanShapeBuilder.Translated = {
    val plan = execution(session, analyzed, mode, origins, batch = 0L, WatermarkPropagator.noop()).executedPlan
    new PlanShapeBuilder(origins, SessionConf.unboundedJoin(session.sessionState.conf)).build(plan)
  }

  /** A batch of the query. Each operator's watermarks are those that `propagator` gives. */
  def execution(
      session: SparkSession,
      analyzed: LogicalPlan,
      mode: OutputMode,
      origins: OriginsOfPlan,
      batch: Long,
      propagator: WatermarkPropagator): IncrementalExecution = {
    // A session of its own, because the rules are for this plan alone.
    val own = session.cloneSession()
    val conf = own.sessionState.conf
    conf.setConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED, false)
    val known = () => Some(origins)
    val rules = Seq(
      new InsertOrders(SessionConf.order(conf), analyzed, known, (_, _) => ()),
      new InsertOperatorInputs(known))
    own.experimental.extraOptimizations = own.experimental.extraOptimizations ++ rules
    own.withActive {
      val execution = new IncrementalExecution(
        own,
        analyzed,
        mode,
        checkpointLocation = "<unknown>",
        queryId = UUID.randomUUID(),
        runId = UUID.randomUUID(),
        currentBatchId = batch,
        prevOffsetSeqMetadata = None,
        offsetSeqMetadata = OffsetSeqMetadata(0L, 0L),
        watermarkPropagator = propagator,
        isFirstBatch = false)
      execution.executedPlan
      execution
    }
  }
}
