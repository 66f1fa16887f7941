package org.apache.spark.sql.tidemark.query

import java.util.UUID

import io.tidemark.{OrderErrors, TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.Watermark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeWatermarkExec, StateStoreWriter}
import org.apache.spark.sql.tidemark.exec.SplitClocksExec
import org.apache.spark.sql.tidemark.exec.order.HoldExec
import org.apache.spark.sql.tidemark.functions.WatermarkExpression
import org.apache.spark.sql.tidemark.planning.{OperatorOrder, WriteWatermarks}
import org.apache.spark.sql.tidemark.stream.CurrentQuery

/** Writes the late and eviction watermarks of a batch into the plan that Spark has prepared.
  *
  * Spark has filled in one number per operator already. What is left are the two sides of joins and the operators with
  * several event-time columns. Their [[OperatorInputExec]] gets the watermark by which rows are late (batch n-1's). A
  * join gets the predicates that evict each side's state (batch n's). Idempotent: the rule may run several times.
  */
final class ApplyWatermarks(session: SparkSession) extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[ApplyWatermarks].getName

    override def apply(plan: SparkPlan): SparkPlan = runOf(plan) match {
      case None => plan
      case Some(Run(runId, batch)) =>
        RunningQueries.get(runId) match {
          case Some(takeover) =>
            takeover.decide() match {
              case QueryLife.Running(watermarks, sources) =>
                watermarks.ordered(OperatorOrder.in(plan))
                WriteWatermarks(plan, watermarks.watermarksOf(batch.getOrElse(sources.batch)))
              case QueryLife.LeftToSpark(reason) => requireNoReading(plan, Some(reason))
            }
          case None =>
            // `explain` plans under a run id of its own, which no query has. Spark 4.0 does so for every batch.
            RequireTakenOver(session, runId).fold(plan) { query =>
              if (query.analyzedPlan.exists(_.isInstanceOf[EventTimeWatermark])) requireNoReading(plan, None)
              else {
                // Its column has only the mark of another query's watermark.
                holdIn(plan).foreach { hold =>
                  throw new TidemarkException(OrderErrors.OrderNotEventTime(hold.order.time.name, Nil))
                }
                WriteWatermarks.readIn(plan)(withoutWatermark)
              }
            }
        }
    }
  }

  private def withoutWatermark(reading: WatermarkExpression): WatermarkExpression =
    if (reading.state == WatermarkExpression.Awaited) reading.withState(WatermarkExpression.Value(Watermark.Unknown))
    else reading

  /** Stock Spark has no watermark of each operator that an expression could read. A part of a plan may be planned alone. */
  private def requireNoReading(plan: SparkPlan, reason: Option[String]): SparkPlan = {
    val hasWatermarks = plan.exists(_.isInstanceOf[EventTimeWatermarkExec])
    val readings = plan.flatMap(WatermarkExpression.in(_))
    readings.find(_.state == WatermarkExpression.Awaited || hasWatermarks).foreach { reading =>
      val why = reason.getOrElse(s"${TidemarkConf.Enabled.key}=false")
      throw new TidemarkException(TidemarkError.LeftToSpark(why, s"reads ${reading.sql}"))
    }
    holdIn(plan).foreach { hold =>
      val why = reason.getOrElse(s"${TidemarkConf.Enabled.key}=false")
      throw new TidemarkException(TidemarkError.LeftToSpark(
        why,
        s"holds rows in the order of '${hold.order.time.name}'"))
    }
    plan
  }

  private def holdIn(plan: SparkPlan): Option[HoldExec] = plan.collectFirst { case hold: HoldExec => hold }

  /** @param batch `None`: the batch that is being planned */
  private case class Run(id: UUID, batch: Option[Long])

  /** The run and the batch of a streaming plan; `None` for other plans, such as those of `explain` and of `foreachBatch`.
    * Only a plan with state names them itself.
    */
  private def runOf(plan: SparkPlan): Option[Run] =
    plan.collectFirst {
      case writer: StateStoreWriter if writer.stateInfo.isDefined =>
        Run(writer.stateInfo.get.queryRunId, Some(writer.stateInfo.get.storeVersion))
    }.orElse {
      val isOurs = plan.exists(node => node.isInstanceOf[SplitClocksExec] || WatermarkExpression.isIn(node))
      if (isOurs) CurrentQuery.of(session).map(query => Run(query.runId, None)) else None
    }
}
