package org.apache.spark.sql.tidemark.query

import scala.util.control.NonFatal

import io.tidemark.TidemarkException
import io.tidemark.core.OperatorId
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.execution.streaming.runtime._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.check.StaticPlan
import org.apache.spark.sql.tidemark.stream.SparkInternals
import org.apache.spark.sql.tidemark.stream.SparkTypes.ErrorNotifier

/** Has Spark ask at the start of a run what it asks after each batch: may something be emitted or evicted without rows?
  *
  * `MicroBatchExecution.constructNextBatch` asks the plan of the batch before, and the first batch of a run has none. So a
  * window that was due, a split that has become idle or a mark that was written in the meantime would wait for a row. Here
  * the first batch gets the plan of the last batch of the earlier run, which is planned and not run. It is taken away as
  * soon as Spark has asked, because the first batch of a run is recognized by having none.
  *
  * Spark calls [[throwErrorIfExists]] at the beginning of each trigger, which is the only such place.
  *
  * @param propagator answers for the batch that Spark asks about
  */
private[tidemark] final class AskAtStart(
    execution: MicroBatchExecution,
    propagator: WatermarkPropagator,
    takeover: Takeover)
    extends ErrorNotifier {
  import AskAtStart._

  // It is asked at each trigger until there is a batch.
  private var last = Option.empty[IncrementalExecution]
  private var cannotPlan = false

  override def throwErrorIfExists(): Unit = {
    super.throwErrorIfExists()
    takeover.noteAgain()
    takeover.noteStart()
    execution.getLatestExecutionContext() match {
      case first: MicroBatchExecutionContext if isFirst(first) =>
        for {
          query <- takeover.goingBeyondSpark if !cannotPlan
          plan <- last.orElse(planned(first, query)) if !(endsByItself && wantsAnotherAnyway(plan))
        } first.previousContext = Some(before(first, plan))
      case _ => last = None
    }
  }

  private def isFirst(batch: MicroBatchExecutionContext): Boolean =
    batch.batchId > 0 && batch.previousContext.isEmpty && !batch.isCurrentBatchConstructed &&
      SparkInternals.session(execution).sessionState.conf.getConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED)

  private def endsByItself: Boolean = SparkInternals.endsByItself(execution)

  private def before(first: MicroBatchExecutionContext, plan: IncrementalExecution): MicroBatchExecutionContext = {
    val context = first.getNextContext()
    context.previousContext = None
    context.executionPlan = plan
    last = Some(plan)
    context
  }

  /** `None` if this plan cannot be made: then the run waits for a row, as in stock Spark. Spark of another vendor may lack a
    * constructor, and a plan may be deeper than the stack.
    */
  private def planned(first: MicroBatchExecutionContext, query: QueryWatermarks): Option[IncrementalExecution] =
    try Some(plannedNow(first, query))
    catch {
      case e: TidemarkException => throw e
      case e @ (NonFatal(_) | _: LinkageError | _: StackOverflowError) =>
        cannotPlan = true
        logWarning(
          s"Tidemark, query ${query.label}: cannot see whether something is due before the first row, so it waits for one.",
          e)
        None
    }

  private def plannedNow(first: MicroBatchExecutionContext, query: QueryWatermarks): IncrementalExecution =
    StaticPlan.execution(
      SparkInternals.session(execution),
      execution.analyzedPlan,
      execution.outputMode,
      query.origins,
      first.batchId - 1,
      new PropagateWatermarkSimulator {
        private var reached = Option.empty[OperatorWatermarks]

        override def propagate(batchId: Long, plan: SparkPlan, originWatermark: Long): Unit =
          if (batchId >= first.batchId) {
            first.previousContext = None
            propagator.propagate(batchId, plan, originWatermark)
          } else if (reached.isEmpty) reached = Some(query.before(plan))

        override def getInputWatermarkForLateEvents(batchId: Long, stateOpId: Long): Long = 0L

        override def getInputWatermarkForEviction(batchId: Long, stateOpId: Long): Long =
          if (batchId >= first.batchId) propagator.getInputWatermarkForEviction(batchId, stateOpId)
          else reached.flatMap(_.progress(OperatorId(stateOpId))).getOrElse(0L)

        override def purge(batchId: Long): Unit = ()
      })
}

private[tidemark] object AskAtStart {

  /** Whether an operator wants another batch although no watermark has advanced: its timers follow the clock. A run that ends
    * by itself would never end.
    */
  private def wantsAnotherAnyway(plan: IncrementalExecution): Boolean = plan.executedPlan.exists {
    case operator: StateStoreWriter => operator.shouldRunAnotherBatch(Long.MinValue)
    case _ => false
  }
}
