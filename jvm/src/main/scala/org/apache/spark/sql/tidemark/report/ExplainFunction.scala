package org.apache.spark.sql.tidemark.report

import java.util.Locale

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.why.{Finding, PlanInput, Words}

import org.apache.spark.sql.catalyst.streaming.InternalOutputModes
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.check.Explanation
import org.apache.spark.sql.tidemark.session.{SessionConf, SqlFunctions}

/** `tidemark_explain(view, mode)`: what the plan of a streaming view says before a query runs it, as JSON. */
object ExplainFunction {
  import Json.{list, obj}

  private val name = "tidemark_explain"
  private val usage =
    "(view, mode[, trigger]) - what waits for what in a streaming view written in that output mode, as JSON"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, usage) { arguments =>
      arguments.map(SqlFunctions.constantText) match {
        case Seq(Some(view), Some(mode)) => SqlFunctions.text(json(view, modeOf(mode), isAvailableNow = false))
        case Seq(Some(view), Some(mode), Some(trigger)) =>
          SqlFunctions.text(json(view, modeOf(mode), isAvailableNow(trigger)))
        case _ =>
          val expected = "the name of a streaming view, an output mode, and at most a trigger, as constant texts,"
          throw new TidemarkException(TidemarkError.WrongArguments(name, expected, arguments.size))
      }
    }

  private def json(view: String, mode: OutputMode, isAvailableNow: Boolean): String = {
    val session = SparkSession.active
    val plan = session.table(view).queryExecution.analyzed
    if (!plan.isStreaming) throw new TidemarkException(TidemarkError.NotStreaming(view))
    val explained = Explanation.of(session, plan, mode, isAvailableNow)
    Json.text(obj(
      "text" -> explained.text(new Words(SessionConf.zone(session.sessionState.conf))),
      "operators" -> list(explained.inputs.map(ofInput)),
      "findings" -> list(explained.findings.map(ofFinding))))
  }

  private def modeOf(text: String): OutputMode = text.trim.toLowerCase(Locale.ROOT) match {
    case "append" => InternalOutputModes.Append
    case "update" => InternalOutputModes.Update
    case "complete" => InternalOutputModes.Complete
    case _ =>
      throw new TidemarkException(TidemarkError.InvalidOption("output_mode", text, Seq("append", "update", "complete")))
  }

  private def isAvailableNow(text: String): Boolean =
    if (text.trim.equalsIgnoreCase("availableNow")) true
    else throw new TidemarkException(TidemarkError.InvalidOption("trigger", text, Seq("availableNow")))

  private def ofInput(input: PlanInput): AnyRef = obj(
    "operator" -> input.operator,
    "side" -> input.side.orNull,
    "column" -> input.column.orNull,
    "late_by" -> list(input.waits.late.map(_.toString)),
    "waits_for" -> list(input.waits.evicted.getOrElse(Nil).map(_.toString)),
    "even_idle" -> list(input.waits.evenIdle.map(_.toString)),
    "after_ms" -> input.waits.afterMillis.map(Long.box).orNull,
    "keeps_forever" -> input.waits.evicted.isEmpty)

  private def ofFinding(finding: Finding): AnyRef = obj(
    "code" -> finding.code,
    "severity" -> finding.severity.name,
    "sentence" -> finding.sentence,
    "fix" -> finding.fix,
    "column" -> finding.column.orNull,
    "operator" -> finding.operator.orNull)
}
