package org.apache.spark.sql.tidemark.report

import java.util.UUID

import io.tidemark.TidemarkError
import io.tidemark.core.{ColumnId, Input, OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.memory.{OriginState, ReasonText, WatermarkEntry}
import io.tidemark.core.plan.{
  AttributedWatermark,
  Decision,
  InputWatermarks,
  OperatorWatermarks,
  PlanShape,
  PropagatedNode,
  Propagation
}
import io.tidemark.core.splits.{SplitNameTable, Splits}
import io.tidemark.core.why.{Finding, Words}

import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.exec.calls.CallMetricsExec
import org.apache.spark.sql.tidemark.marks.OutputMarks
import org.apache.spark.sql.tidemark.planning.PlanShapeBuilder
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
      new OriginReport(
        planOrigin,
        entry,
        snapshot.decision,
        snapshot.splits(planOrigin),
        noted,
        query.run.countsSilence)
    }
    val tree = new Tree(
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
        new OriginReport(
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

  /** @param splits the splits by the latest decision */
  private final class OriginReport(
      planOrigin: PlanOrigin,
      entry: WatermarkEntry,
      decision: Decision,
      splits: Splits,
      noted: NotedReport,
      countsSilence: Boolean) {
    private val state = entry.origins.getOrElse(planOrigin.name, OriginState.initial).copy(splits = splits)
    private val now = decision.origin(planOrigin.name)
    private val shown = new SplitsReport(planOrigin, state, now, entry.endMillis, noted, countsSilence)

    def name: OriginName = planOrigin.name

    /** The split that is furthest behind, if the watermark waits for one of several. */
    def heldBack: Option[String] =
      if (planOrigin.rules.splitBy.isEmpty) None
      else shown.behind.waitedFor.headOption.map(split => SplitNameTable.show(splits.name(split)))

    private def shown(millis: Option[Long]): AnyRef = millis.filter(_ => state.hasTimes).map(Long.box).orNull

    def hints: Seq[TidemarkError] = noted.hints(shown.behind.waitedFor.flatMap(shown.behind.writer))

    def json: AnyRef = obj(Seq(
      "key" -> planOrigin.name.toString,
      "column" -> planOrigin.column,
      "delay_ms" -> planOrigin.rules.delayMillis,
      "watermark_ms" -> shown(now.millis),
      "late_watermark_ms" -> shown(entry.decision.origin(planOrigin.name).millis),
      "max_event_time_ms" -> shown(state.maxEventTimeMillis)) ++ shown.fields: _*)
  }

  /** The plan as nested operators, without those that only pass rows on.
    * @param splits the split that holds an origin's watermark back, if it has splits
    */
  private final class Tree(
      plan: PlanShapeBuilder.Translated,
      late: OperatorWatermarks,
      eviction: OperatorWatermarks,
      query: QueryView.Planned,
      splits: Map[OriginName, String]) {
    private val lateRows = query.lateRows ++ query.passedRows

    def json: AnyRef = node(eviction.root)

    private def node(at: PropagatedNode): AnyRef = {
      val below = at.inputs.map(_.out)
      val sources = at.shape match {
        case stateless: PlanShape.Stateless => stateless.columns.toMap
        case _ => Map.empty[ColumnId, ColumnId]
      }
      val columns = at.out.columns.toSeq.sortBy(_._1.value).map { case (id, held) =>
        val in = at.shape match {
          // Each input of a union has its own column.
          case _: PlanShape.Union => None
          case _ => below.flatMap(_.columns.get(sources.getOrElse(id, id))).headOption
        }
        obj(
          "name" -> plan.columnNames.getOrElse(id, s"#${id.value}"),
          "in_ms" -> in.map(h => millis(h.watermark)).orNull,
          "out_ms" -> millis(held.watermark),
          "held_by" -> holder(held))
      }
      val least = at.out.least.filter(_ => columns.isEmpty)
      val fields = Seq(
        "operator" -> at.shape.label,
        "columns" -> list(columns),
        "least_ms" -> least.map(h => millis(h.watermark)).orNull) ++ stateful(at.shape) ++ Seq(
        "children" -> list(at.inputs.filter(hasEventTime).map(node)))
      obj(fields: _*)
    }

    /** The origin that holds a watermark back; null if the query has only one. */
    private def holder(held: AttributedWatermark): String =
      if (query.origins.all.size < 2) null else held.by.map(_.toString).orNull

    private def hasEventTime(at: PropagatedNode): Boolean =
      PlanShape.postOrder(at.shape).exists(_.isInstanceOf[PlanShape.Origin])

    private def stateful(shape: PlanShape): Seq[(String, Any)] = shape match {
      case origin: PlanShape.Origin => Seq("key" -> origin.name.toString)
      case union: PlanShape.Union =>
        val leftOut = union.inputs.zipWithIndex.filterNot { case (in, _) =>
          PlanShape.postOrder(in).exists(_.isInstanceOf[PlanShape.Origin])
        }
        Seq("inputs_without_event_time" -> list(leftOut.map { case (_, index) => Int.box(index) }))
      case stateful: PlanShape.Stateful =>
        val input = Input(stateful.id, Side.Left)
        operator(stateful.id) ++ levels(stateful, input) ++ windows(stateful.id) ++
          OrderReport.held(stateful.id, query, eviction.inputs.get(input).flatMap(_.input.by), splits) ++
          OrderReport.order(stateful.id, query)
      case join: PlanShape.Join =>
        val sides = Seq[Side](Side.Left, Side.Right).map { side =>
          obj(("side" -> side.name) +: levels(join, Input(join.id, side)): _*)
        }
        operator(join.id) :+ ("sides" -> list(sides))
      case _ => Nil
    }

    private def operator(id: OperatorId): Seq[(String, Any)] =
      Seq(
        "id" -> id.value,
        "state_rows" -> query.known.rows.get(id).map(Long.box).orNull,
        "late_rows" -> rowsOf(id, query.lateRows).sum) ++
        Some(rowsOf(id, query.passedRows)).filter(_.nonEmpty).map("passed_rows" -> _.sum)

    private def rowsOf(id: OperatorId, late: Map[Input, LateRows.Total]): Iterable[Long] =
      late.collect { case (input, rows) if input.operator == id => rows.all.rows }

    /** Only for aggregations of which it is known when their windows end, and which have a watermark. */
    private def windows(id: OperatorId): Seq[(String, Any)] = {
      val hasWatermark =
        eviction.inputs.get(Input(id, Side.Left)).flatMap(_.evicted).exists(_.watermark.millis.nonEmpty)
      query.known.windows.get(id).flatMap(_.dueMillis).filter(_ => hasWatermark).map("next_due_ms" -> _).toSeq
    }

    /** No row from before 1970 is on time, as in Spark. */
    private def lateMillis(judged: InputWatermarks): Option[AnyRef] =
      judged.input.watermark.millis.map(at => Long.box(math.max(at, 0L)))

    private def levels(operator: PlanShape, input: Input): Seq[(String, Any)] = {
      val (judged, now) = (late.inputs.get(input), eviction.inputs.get(input))
      val neverLate = !PlanShape.dropsLate(operator)
      val keepsForever = PlanShape.eviction(operator, input.side) == PlanShape.Eviction.Never
      Seq(
        "late_ms" -> judged.filterNot(_ => neverLate).flatMap(lateMillis).orNull,
        "eviction_ms" -> now.flatMap(_.evicted).filterNot(_ => keepsForever).map(h => millis(h.watermark)).orNull,
        "held_by" -> now.flatMap(_.evicted).map(holder).orNull,
        "late" ->
          lateRows.get(input).map(lateness(input, _, PlanShape.judgedByAll(operator, input.side), judged)).orNull) ++
        query.known.skippedScans.get(input).map("skipped_scans" -> _) ++
        Option.when(neverLate)("never_late" -> true) ++ Option.when(keepsForever)("keeps_forever" -> true)
    }

    /** @param judges the origins whose watermark decides what is late here. Where a union has made one column of several,
      *   it is not known from which of them the late rows came
      */
    private def lateness(
        input: Input,
        rows: LateRows.Total,
        judges: Seq[OriginName],
        judged: Option[InputWatermarks]): AnyRef = {
      val by = judged.map(_.input).filter(held => judges.size < 2 && held.watermark.millis.nonEmpty)
      val worst = rows.all.splits.most(WorstSplits).map { case (name, count) => obj("name" -> name, "rows" -> count) }
      obj(Seq[(String, Any)](
        "key" -> (if (judges.size == 1) judges.head.toString else null),
        "held_by" -> by.map(holder).orNull,
        "rows" -> rows.all.rows,
        "most_ms" -> rows.all.mostMillis,
        "last_rows" -> rows.last.rows,
        "last_ms" -> rows.last.mostMillis,
        "last_batch" -> rows.lastBatch) ++
        Option.when(query.passedRows.contains(input))("passed" -> true) ++
        Option.when(worst.nonEmpty)("splits" -> list(worst)): _*)
    }
  }

  // The splits with most late rows that are named.
  private val WorstSplits = 10

  private def millis(watermark: Watermark): AnyRef = watermark.millis.map(Long.box).orNull
}
