package org.apache.spark.sql.tidemark.report

import java.util.UUID

import io.tidemark.TidemarkError
import io.tidemark.core.memory.{ReasonText, WatermarkEntry}
import io.tidemark.core.plan.Propagation
import io.tidemark.core.why.{Finding, Words}

import org.apache.spark.sql.tidemark.exec.calls.CallMetricsExec
import org.apache.spark.sql.tidemark.marks.OutputMarks
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.status.{QueryView, Reason}

/** What `tidemark.report(query)` shows, as plain data: each operator with its columns' watermarks, and what holds them.
  *
  * Times are ms since the epoch, and an undefined watermark is null. `late` is the watermark for rows of the next
  * batch, and `eviction` the one that closes windows and evicts state. `batch` is the last that has ended, null before
  * the first.
  */
private[tidemark] object Report {
  import Json.{list, obj}

  def json(view: QueryView): String = {
    val (engine, fields) = view.state match {
      case QueryView.LeftToSpark(reason) => "spark" -> (("reason" -> reason) +: nothing(view.findings))
      case none: QueryView.NoWatermark => "spark" ->
          (("reason" -> "it has no watermark") +: without(none, view.findings))
      case QueryView.NothingKnown => "tidemark" -> nothing(view.findings)
      case QueryView.Waiting(restored) => "tidemark" -> waiting(restored, view.findings)
      case planned: QueryView.Planned => "tidemark" -> body(planned, view.findings)
    }
    val query = obj("id" -> view.id.toString, "runId" -> view.runId.toString, "name" -> view.name.orNull)
    val why = reason(Reason.of(view, System.currentTimeMillis()).text(new Words(view.zone)))
    Json.text(obj(Seq("query" -> query, "zone" -> view.zone.getId, "why" -> why, "engine" -> engine) ++ fields: _*))
  }

  /** Of a query that is none of this application, or that ended long ago. */
  def unknown(id: UUID): String = Json.text(obj(Seq(
    "query" -> obj("id" -> id.toString, "runId" -> null, "name" -> null),
    "why" -> obj(
      "code" -> "UNKNOWN_QUERY",
      "sentence" ->
        ("This application has no report of the query. It keeps those of the last " +
          s"${RunningQueries.MostEnded} queries that have ended."),
      "fix" -> null,
      "held_by" -> null,
      "is_trouble" -> false),
    "engine" -> "spark",
    "reason" -> "there is no report of the query in this application") ++ nothing(Nil): _*))

  /** Of a query without a watermark: the orders of its operators and its calls. */
  private def without(query: QueryView.NoWatermark, findings: Seq[Finding]): Seq[(String, Any)] = {
    val operators = query.orders.toSeq.sortBy(-_._1.value).map { case (id, order) =>
      obj(Seq("operator" -> order.operator, "id" -> id.value, "columns" -> list(Nil), "children" -> list(Nil)) ++
        OrderReport.order(order): _*)
    }
    val plan = if (operators.isEmpty) null
    else obj("operator" -> "output", "columns" -> list(Nil), "children" -> list(operators))
    Seq("batch" -> null, "inputs" -> list(Nil), "hints" -> list(findings.map(hint)), "plan" -> plan) ++
      Option.when(query.calls.nonEmpty)("calls" -> list(query.calls.toSeq.sortBy(_._1).map { case (column, last) =>
        obj("column" -> column, "last" -> obj(CallMetricsExec.fields(last): _*))
      }))
  }

  /** Of a query whose watermarks are not known. */
  private def nothing(findings: Seq[Finding]): Seq[(String, Any)] =
    Seq("batch" -> null, "inputs" -> list(Nil), "hints" -> list(findings.map(hint)), "plan" -> null)

  private def reason(why: ReasonText): AnyRef = obj(
    "code" -> why.code,
    "sentence" -> why.sentence,
    "fix" -> why.fix.orNull,
    "held_by" -> why.heldBy.orNull,
    "is_trouble" -> why.isTrouble)

  private def body(query: QueryView.Planned, findings: Seq[Finding]): Seq[(String, Any)] = {
    val snapshot = query.snapshot
    val entry = snapshot.entry
    val shape = snapshot.plan.shape
    val promised = query.origins.promisedIn(shape)
    val origins = query.origins.all.map { planOrigin =>
      val noted = NotedReport.of(planOrigin, query.noted, query.lateRows, promised)
      new InputReport(
        planOrigin,
        entry,
        snapshot.decision,
        snapshot.splits(planOrigin),
        noted,
        query.run.countsSilence)
    }
    val tree = new PlanReport(
      snapshot.plan,
      Propagation.levels(shape, entry.decision),
      snapshot.levels,
      query,
      origins.flatMap(planOrigin => planOrigin.heldBack.map(planOrigin.name -> _)).toMap)
    Seq(
      "batch" -> batch(entry),
      "inputs" -> list(origins.map(_.json)),
      "hints" -> list((query.hints ++ origins.flatMap(_.hints)).map(hint) ++ findings.map(hint)),
      "plan" -> tree.json) ++
      Option.when(query.known.calls.nonEmpty)("calls" -> list(query.known.calls.toSeq.sortBy(_._1).map {
        case (column, calls) => obj(
            "column" -> column,
            "last" -> obj(CallMetricsExec.fields(calls.last): _*),
            "all" -> obj(CallMetricsExec.fields(calls.all): _*))
      })) ++ Option.when(query.outputs.nonEmpty)("outputs" -> list(query.outputs.map(output))) ++
      query.history.map("history" -> HistoryReport.json(_))
  }

  private def output(status: OutputMarks.Status): AnyRef = obj(
    "column" -> status.column,
    "location" -> status.location,
    "writer" -> status.writer,
    "noted_ms" -> status.timeMillis.map(Long.box).orNull,
    "failures" -> status.failures)

  private def hint(error: TidemarkError): AnyRef =
    obj("code" -> error.code, "message" -> error.message, "parameters" -> obj(error.parameters.toSeq: _*))

  private def hint(finding: Finding): AnyRef = {
    val parameters = finding.column.map("column" -> _) ++ finding.operator.map("operator" -> _)
    obj("code" -> finding.code, "message" -> finding.message, "parameters" -> obj(parameters.toSeq: _*))
  }

  /** Before the first batch of a run is planned: what the checkpoint's last entry says. */
  private def waiting(restored: QueryView.RestoredEntry, findings: Seq[Finding]): Seq[(String, Any)] = {
    val entry = restored.entry
    Seq(
      "waiting_since" -> (if (restored.isRestart) "restart" else "start"),
      "batch" -> batch(entry),
      "inputs" -> list(restored.origins.all.map { planOrigin =>
        val noted = NotedReport.of(planOrigin, Map.empty, Map.empty, Map.empty)
        new InputReport(
          planOrigin,
          entry,
          entry.standing,
          entry.splitsOf(planOrigin.name),
          noted,
          restored.countsSilence).json
      }),
      "hints" -> list(findings.map(hint)),
      "plan" -> null)
  }

  private def batch(entry: WatermarkEntry): AnyRef = Option.when(entry.batch >= 0)(Long.box(entry.batch)).orNull
}
