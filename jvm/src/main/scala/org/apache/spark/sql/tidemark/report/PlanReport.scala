package org.apache.spark.sql.tidemark.report

import io.tidemark.core.{ColumnId, Input, OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.plan.{AttributedWatermark, InputWatermarks, OperatorWatermarks, PlanShape, PropagatedNode}

import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.planning.PlanShapeBuilder
import org.apache.spark.sql.tidemark.status.QueryView

/** The plan as nested operators, without those that only pass rows on.
  * @param splits the split that holds an origin's watermark back, if it has splits
  */
private[report] final class PlanReport(
    plan: PlanShapeBuilder.Translated,
    late: OperatorWatermarks,
    eviction: OperatorWatermarks,
    query: QueryView.Planned,
    splits: Map[OriginName, String]) {
  import Json.{list, obj}
  import PlanReport._

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

private[report] object PlanReport {

  // The splits with most late rows that are named.
  private val WorstSplits = 10

  private def millis(watermark: Watermark): AnyRef = watermark.millis.map(Long.box).orNull
}
