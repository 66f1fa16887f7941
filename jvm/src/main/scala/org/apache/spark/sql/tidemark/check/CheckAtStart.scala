package org.apache.spark.sql.tidemark.check

import scala.util.control.NonFatal

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.why.{Finding, Severity}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.tidemark.session.SessionConf
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** Looks at the plan of a query as `explain` does, once, before its first batch. */
private[tidemark] object CheckAtStart extends Logging {
  import TidemarkConf.Check

  /** @return the findings that reports show as hints
    * @throws TidemarkException if the setting refuses queries with findings, and there are some
    */
  def apply(execution: MicroBatchExecution, label: String): Seq[Finding] = {
    val session = SparkInternals.session(execution)
    SessionConf.check(session.sessionState.conf) match {
      case Check.Off => Nil
      case Check.Warn =>
        // What the engine hints at or refuses by itself is logged or thrown when the first batch is planned.
        val findings =
          explained(execution, label).toSeq.flatMap(_.found).filter(_.severity == Severity.Warning).distinct
        findings.foreach(finding => logWarning(s"$label: ${finding.message}"))
        findings
      case Check.Refuse =>
        val findings = explained(execution, label).toSeq.flatMap(_.findings).filterNot(_.severity == Severity.Info)
        if (findings.nonEmpty) throw new TidemarkException(TidemarkError.PlanRefused(findings.map(_.message)))
        Nil
    }
  }

  /** A check that fails is not a reason to stop a query that may run. */
  private def explained(execution: MicroBatchExecution, label: String): Option[Explanation] =
    try Some(Explanation.of(SparkInternals.session(execution), execution.analyzedPlan, execution.outputMode))
    catch {
      // Spark of another vendor may lack a constructor, and a plan may be deeper than the stack.
      case e @ (NonFatal(_) | _: LinkageError | _: StackOverflowError) =>
        logWarning(s"$label: the plan could not be checked, which changes nothing for the query", e)
        None
    }
}
