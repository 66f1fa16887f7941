package org.apache.spark.sql.tidemark.check

import scala.util.control.NonFatal

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.why.{Finding, PlanInput, PlanText, Severity, Trap, Words}

import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, WithCTE}
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes.Append
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.batch.Resumption
import org.apache.spark.sql.tidemark.columns.{OriginsOfPlan, PlanNote, TrackedColumns, UnionChecks}
import org.apache.spark.sql.tidemark.session.SessionConf

/** What the plan of a query says before the query starts.
  *
  * @param inputs of its operators with state, those nearest to the sources first
  * @param hints the findings that the engine logs by itself when the query runs
  * @param found all other findings
  */
private[tidemark] final case class Explanation(inputs: Seq[PlanInput], hints: Seq[Finding], found: Seq[Finding]) {

  /** The worst ones first. */
  def findings: Seq[Finding] = (hints ++ found).distinct.sortBy(finding => Severity.all.indexOf(finding.severity))

  def text(words: Words): String = PlanText.of(inputs, findings, words)
}

private[tidemark] object Explanation {

  /** @param analyzed the plan of a streaming query, without its sink
    * @param isAvailableNow whether each run of the query ends with its input
    */
  def of(
      session: SparkSession,
      analyzed: LogicalPlan,
      mode: OutputMode,
      isAvailableNow: Boolean = false): Explanation = {
    val conf = session.sessionState.conf
    val left =
      if (!SessionConf.enabled(conf)) Some(s"${TidemarkConf.Enabled.key}=false") else SessionConf.leftToSpark(conf)
    try {
      val origins = OriginsOfPlan.of(analyzed, conf)
      val inlined = if (analyzed.exists(_.isInstanceOf[WithCTE])) InlineCTE(alwaysInline = true)(analyzed) else analyzed
      val tracked = TrackedColumns.in(inlined, origins.computed, origins.takesTimesOut)
      val state = new StateTraps(inlined, tracked, mode, conf.isUnsupportedOperationCheckEnabled)
      PlanNote.requireValid(analyzed, mode)
      val countsSilence = Resumption.countsSilence(isAvailableNow, SessionConf.downtimeIsSilence(conf))
      val logical = state.all ++ OriginTraps.in(analyzed, origins, countsSilence)
      left match {
        case Some(reason) => Explanation(Nil, Nil, leftToSpark(reason, origins) +: state.all.map(_.finding))
        case None =>
          UnionChecks.requireSamePositions(analyzed)
          planned(session, analyzed, mode, origins, logical, countsSilence, isRefused = state.refused.nonEmpty)
      }
    } catch { case e: TidemarkException => Explanation(Nil, Nil, Seq(finding(e.error, Severity.Error))) }
  }

  /** What needs more than Spark's own watermarks fails there. */
  private def leftToSpark(reason: String, origins: OriginsOfPlan): Finding =
    origins.all.flatMap(_.needsTidemark).headOption match {
      case Some(requested) => finding(TidemarkError.LeftToSpark(reason, requested), Severity.Error)
      case None => Trap.LeftToSpark(reason).finding
    }

  private def planned(
      session: SparkSession,
      analyzed: LogicalPlan,
      mode: OutputMode,
      origins: OriginsOfPlan,
      logical: Seq[Trap],
      countsSilence: Boolean,
      isRefused: Boolean): Explanation = {
    val plan =
      try Some(StaticPlan.of(session, analyzed, mode, origins))
      catch {
        case e: TidemarkException => throw e
        // There need not be a plan of what Spark refuses.
        case NonFatal(_) if isRefused => None
      }
    val runsNoDataBatches = session.sessionState.conf.getConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED)
    val traps = logical ++
      plan.toSeq.flatMap(new ShapeTraps(_, origins, mode == Append, runsNoDataBatches, countsSilence, isRefused).all)
    Explanation(
      plan.toSeq.flatMap(translated => PlanInput.of(translated.shape, translated.columnNames)),
      plan.fold(origins.hints)(_.hints).distinct.map(finding(_, Severity.Warning)),
      traps.map(_.finding))
  }

  private def finding(error: TidemarkError, severity: Severity): Finding =
    Finding(
      error.code,
      severity,
      error.what,
      error.fix,
      column = error.parameters.get("column"),
      operator = error.parameters.get("operator"))
}
