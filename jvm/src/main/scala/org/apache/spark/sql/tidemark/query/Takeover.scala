package org.apache.spark.sql.tidemark.query

import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.why.{Finding, Words}

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.execution.streaming.StreamingQueryPlanTraverseHelper
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, PropagateWatermarkSimulator}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.check.{CheckAtStart, OrderSetting}
import org.apache.spark.sql.tidemark.columns.{OriginsOfPlan, PlanNote, UnionChecks}
import org.apache.spark.sql.tidemark.exec.calls.CallMetricsExec
import org.apache.spark.sql.tidemark.marks.OutputMarks
import org.apache.spark.sql.tidemark.optimizer.{InsertOperatorInputs, InsertOrders}
import org.apache.spark.sql.tidemark.planning.OperatorOrder
import org.apache.spark.sql.tidemark.session.SessionConf
import org.apache.spark.sql.tidemark.status.{FirstLine, QueryView}
import org.apache.spark.sql.tidemark.stream.{SessionRule, SparkInternals}

/** One query with watermarks that Tidemark has seen start, and the decision whose watermarks it uses.
  * @param findings what its plan has shown before the start
  */
private[tidemark] final class Takeover private (
    execution: MicroBatchExecution,
    initial: QueryLife,
    findings: Seq[Finding])
    extends Logging {
  import QueryLife._
  import Takeover._

  private val label = labelOf(execution)

  @volatile private var current = initial

  // Spark makes the plan with the sink after it has called the listener. So the first caller makes these, once: the query
  // when it is decided, or the first event of a run that finds no rows.
  private lazy val outputs = {
    hasOutputs = true
    Try(OutputMarks.of(execution, label))
  }
  @volatile private var hasOutputs = false

  def id: UUID = execution.id
  def runId: UUID = execution.runId
  def isActive: Boolean = execution.isActive

  /** Whether its thread has come to its end: a query that is being stopped may still be planning. */
  def hasEnded: Boolean =
    SparkInternals.session(execution).sharedState.activeStreamingQueries.get(execution.id) ne execution

  /** Where the query stands, from any thread. */
  def life: QueryLife = current

  /** Decides once, on the query's thread, in whose hands the watermarks of the query are.
    *
    * @throws Throwable what made it fail: the same error at each call, so that users see it wherever Spark asks first
    */
  def decide(): Decided = synchronized {
    current match {
      case decided: Decided => decided
      case Failed(error, _) => throw error
      case started: Started =>
        try {
          val decided = decide(started)
          current = decided
          decided
        } catch {
          case NonFatal(e) =>
            current = Failed(e, stateOf(started))
            throw e
        }
    }
  }

  private def decide(started: Started): Decided = {
    val start = started.start
    leftToSpark(execution) match {
      case Some(reason) =>
        logWarning(s"$label: watermarks are left to Spark because of $reason")
        val notes = PlanNote.of(execution.analyzedPlan).map(note => s"notes the time of column '${note.column}'")
        refuseOptions(start.origins.get, notes ++ orderOf(start.origins.get), reason)
        LeftToSpark(reason)
      case None =>
        UnionChecks.requireSamePositions(execution.analyzedPlan)
        new BeginQuery(execution, label).running(start, outputs.get, started.restored)
    }
  }

  /** What `spark.tidemark.order=event_time` would add to the query. */
  private def orderOf(origins: OriginsOfPlan): Option[String] = Option.when(
    SessionConf.order(confOf(execution)) == TidemarkConf.OrderKept.EventTime &&
      InsertOrders.added(execution.analyzedPlan, origins) > 0)(
    s"puts rows into event-time order, as ${TidemarkConf.Order.key}=${TidemarkConf.OrderKept.EventTime.name} asks")

  /** Notes again what the last committed batch noted, as long as this run has decided nothing: a run that finds no rows never
    * does. On the query's thread, at the beginning of each trigger.
    */
  def noteAgain(): Unit = current match {
    case Started(start, Some(restored)) if restored.entry.outputs.nonEmpty && leftToSpark(execution).isEmpty =>
      val last = restored.entry
      // If they cannot be made, the query fails with that error when it is planned.
      outputs.foreach { marks =>
        marks.resume(last.batch, last.outputs, start.isRunAgain(last.batch + 1))
        marks.look()
      }
    case _ =>
  }

  /** Has the first batch of this run note when the run began. On the query's thread, at the beginning of each trigger. */
  def noteStart(): Unit = current match {
    case Started(start, _) if leftToSpark(execution).isEmpty => start.noteStart()
    case _ =>
  }

  /** A batch may have been committed, or there is none to run; from any thread. */
  def progressed(): Unit = current match {
    case Running(watermarks, _) => watermarks.outputs.lookLater()
    case _ =>
  }

  /** The run has ended; from any thread. */
  def close(): Unit = current match {
    case Running(watermarks, _) => watermarks.close()
    case _ => if (hasOutputs) outputs.foreach(_.close())
  }

  /** What can be said of the query, from any thread. */
  def view: QueryView = viewOf(stateOf(current).getOrElse(QueryView.NothingKnown).detached)

  /** The same on the query's own thread, without a copy of its splits; `None` on other threads, and before a batch. */
  def ownView: Option[QueryView] = current match {
    case Running(watermarks, _) if Thread.currentThread eq execution.queryExecutionThread =>
      watermarks.latest.map(viewOf)
    case _ => None
  }

  private def viewOf(state: QueryView.State): QueryView = QueryView(
    id,
    runId,
    Option(execution.name),
    SessionConf.zone(confOf(execution)),
    findings,
    state,
    hasEnded = !execution.isActive,
    failureOf(execution))

  private def stateOf(life: QueryLife): Option[QueryView.State] = life match {
    case LeftToSpark(reason) => Some(QueryView.LeftToSpark(reason))
    case Running(watermarks, _) => watermarks.state
    case Failed(_, known) => known
    case Started(_, restored) =>
      leftToSpark(execution).map(QueryView.LeftToSpark(_)).orElse(restored.map(QueryView.Waiting(_)))
  }

  /** Puts the propagator and the optimizer rule in place; on the query's thread, before its first batch is planned. */
  private def install(): Unit = {
    val propagator = new QueryPropagator(this)
    SparkInternals.setPropagator(execution, propagator)
    SparkInternals.setErrorNotifier(execution, new AskAtStart(execution, propagator, this))
    val session = SparkInternals.session(execution)
    val setting = SessionConf.order(confOf(execution))
    val _ = SessionConf.requireOrder(confOf(execution))
    val checkpoint = new Path(execution.resolvedCheckpointRoot)
    val ofSetting = new OrderSetting(setting, checkpoint, session.sessionState.newHadoopConf())
    // Before the first batch is committed, nothing waits in the checkpoint.
    val orders = new InsertOrders(
      setting,
      execution.analyzedPlan,
      () => originsToMark,
      (asked, added) => if (SparkInternals.batch(execution).id > 0) ofSetting.requireSame(asked, added))
    session.experimental.extraOptimizations = session.experimental.extraOptimizations ++
      Seq(orders, new InsertOperatorInputs(() => originsToMark)).map(new SessionRule(session, _))
  }

  /** The watermarks of a query that uses something of Tidemark. Any other query runs batch for batch as in stock Spark. */
  def goingBeyondSpark: Option[QueryWatermarks] = {
    def goesBeyond(origins: OriginsOfPlan) = BeyondSpark.isUsed(origins, execution.analyzedPlan)
    current match {
      // Without an entry the run continues from Spark's watermark, once it has rows.
      case Started(start, _) if !(start.hasEntry && start.origins.toOption.exists(goesBeyond)) => None
      case _: Failed => None
      case _ =>
        decide() match {
          case Running(watermarks, _) => Some(watermarks).filter(query => goesBeyond(query.origins))
          case _: LeftToSpark => None
        }
    }
  }

  private def originsToMark: Option[OriginsOfPlan] = decide() match {
    case Running(watermarks, _) => Some(watermarks.origins)
    case _: LeftToSpark => None
  }
}

private[tidemark] object Takeover {

  /** Takes over a query that has just been started; `None` if it has nothing for Tidemark to do.
    *
    * @throws TidemarkException if it should be taken over and cannot be
    */
  def of(execution: MicroBatchExecution): Option[Takeover] =
    Option.when(shouldTakeOver(execution)) {
      SessionConf.requireKnown(confOf(execution))
      val findings = if (leftToSpark(execution).isEmpty) CheckAtStart(execution, labelOf(execution)) else Nil
      val takeover = new Takeover(execution, StartOfRun.of(execution), findings)
      // Spark has chosen another propagator if a setting of its own leaves the query to Spark. The setting is not one of
      // those that come from the checkpoint, so the decision is known.
      if (SparkInternals.propagator(execution).isInstanceOf[PropagateWatermarkSimulator]) takeover.install()
      else takeover.decide()
      takeover
    }

  /** What is said of a query that is not taken over. */
  def passedBy(execution: MicroBatchExecution): QueryView = {
    val hasWatermark = execution.analyzedPlan.exists(_.isInstanceOf[EventTimeWatermark])
    QueryView(
      execution.id,
      execution.runId,
      Option(execution.name),
      SessionConf.zone(confOf(execution)),
      Nil,
      if (hasWatermark) QueryView.LeftToSpark(s"${TidemarkConf.Enabled.key}=false") else withoutWatermark(execution),
      hasEnded = !execution.isActive,
      failureOf(execution))
  }

  private def withoutWatermark(execution: MicroBatchExecution): QueryView.NoWatermark =
    // A plan may have failed, and then fails at each look.
    Option(execution.lastExecution).flatMap(last => Try(last.executedPlan).toOption)
      .fold(QueryView.NoWatermark(Map.empty, Map.empty)) { plan =>
        val calls = StreamingQueryPlanTraverseHelper.collectFromUnfoldedPlan(plan) { case calls: CallMetricsExec =>
          calls.column -> calls.stats
        }
        QueryView.NoWatermark(OperatorOrder.in(plan), calls.groupMapReduce(_._1)(_._2)(_ + _))
      }

  private def failureOf(execution: MicroBatchExecution): Option[QueryView.Failure] = execution.exception.map { error =>
    // A query may fail before it has a batch.
    val batch = Option(execution.getLatestExecutionContext()).map(_.batchId).filter(_ >= 0)
    QueryView.Failure(batch, FirstLine.of(error))
  }

  /** A query that could not be taken over, and fails when it is planned. */
  def failed(execution: MicroBatchExecution, error: TidemarkException): Takeover =
    new Takeover(execution, QueryLife.Failed(error, None), Nil)

  /** Whether a query has watermarks, and Tidemark is on. Settings are read second: a query without watermarks runs
    * whatever they are.
    */
  def shouldTakeOver(execution: MicroBatchExecution): Boolean =
    execution.analyzedPlan.exists(_.isInstanceOf[EventTimeWatermark]) && SessionConf.enabled(confOf(execution))

  /** The query in messages. */
  private def labelOf(execution: MicroBatchExecution): String =
    Option(execution.name).fold(execution.id.toString)(name => s"${Words.legible(name, 60)} [${execution.id}]")

  private def confOf(execution: MicroBatchExecution): SQLConf = SparkInternals.session(execution).sessionState.conf

  /** The reason why a query is left to Spark, by the settings as they are now. */
  private def leftToSpark(execution: MicroBatchExecution): Option[String] = SessionConf.leftToSpark(confOf(execution))
    // Spark 4.0 has no such class.
    .orElse(Option.when(execution.trigger.getClass.getSimpleName == "RealTimeTrigger")("the real-time trigger"))
    // It goes back to a batch long before the last one, whose entry would be gone. Spark 4.0 has it in another package.
    .orElse(Option.when(execution.getClass.getSimpleName == "AsyncProgressTrackingMicroBatchExecution") {
      "asynchronous progress tracking"
    })

  /** A key, splits or an idle time cannot be had from Spark alone. */
  private def refuseOptions(origins: OriginsOfPlan, notes: Seq[String], reason: String): Unit =
    (origins.all.flatMap(_.needsTidemark) ++ notes).headOption.foreach { requested =>
      throw new TidemarkException(TidemarkError.LeftToSpark(reason, requested))
    }
}
