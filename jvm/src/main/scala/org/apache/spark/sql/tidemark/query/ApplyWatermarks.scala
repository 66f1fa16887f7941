package org.apache.spark.sql.tidemark.query

import java.util.UUID

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.Watermark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeWatermarkExec, StateStoreWriter}
import org.apache.spark.sql.tidemark.exec.SplitClocksExec
import org.apache.spark.sql.tidemark.functions.WatermarkExpression
import org.apache.spark.sql.tidemark.planning.WriteWatermarks

/** Writes the late and eviction watermarks of a batch into the plan that Spark has prepared.
  *
  * Spark has filled in one number per operator already. What is left are the two sides of joins and the operators with
  * several event-time columns: their [[OperatorInputExec]] gets the watermark by which rows are late (batch n-1's), and
  * a join the predicates by which each side's state is evicted (batch n's). Idempotent: the rule may run several times.
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
                WriteWatermarks(plan, watermarks.watermarksOf(batch.getOrElse(sources.batch)))
              case QueryLife.LeftToSpark(reason) => requireNoReading(plan, Some(reason))
            }
          case None =>
            // `explain` plans under a run id of its own, which no query has. Spark 4.0 does so for every batch.
            RequireTakenOver(session, runId).fold(plan) { query =>
              if (query.analyzedPlan.exists(_.isInstanceOf[EventTimeWatermark])) requireNoReading(plan, None)
              else WriteWatermarks.readIn(plan)(withoutWatermark)
            }
        }
    }
  }

  private def withoutWatermark(reading: WatermarkExpression): WatermarkExpression =
    if (reading.state == WatermarkExpression.Awaited) reading.withState(WatermarkExpression.Read(Watermark.Unknown))
    else reading

  /** Stock Spark has no watermark of each operator that an expression could read. A part of a plan may be planned alone. */
  private def requireNoReading(plan: SparkPlan, reason: Option[String]): SparkPlan = {
    val hasWatermarks = plan.exists(_.isInstanceOf[EventTimeWatermarkExec])
    val readings = plan.flatMap(WatermarkExpression.in(_))
    readings.find(_.state == WatermarkExpression.Awaited || hasWatermarks).foreach { reading =>
      val why = reason.getOrElse(s"${TidemarkConf.Enabled.key}=false")
      throw new TidemarkException(TidemarkError.LeftToSpark(why, s"reads ${reading.sql}"))
    }
    plan
  }

  /** @param batch `None`: the one that is being planned */
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
