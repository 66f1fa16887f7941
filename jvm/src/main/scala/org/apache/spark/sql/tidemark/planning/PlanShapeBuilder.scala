package org.apache.spark.sql.tidemark.planning

import java.util.UUID

import scala.collection.mutable

import io.tidemark.{NotedTimeErrors, TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.ColumnId
import io.tidemark.core.plan.PlanShape

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, OriginsOfPlan}
import org.apache.spark.sql.tidemark.exec.NoteTimeExec
import org.apache.spark.sql.tidemark.functions.{TimeWindow, WatermarkExpression}

/** Translates a physical plan, operator ids filled in, into the [[PlanShape]] that `core` computes watermarks from. */
private[tidemark] final class PlanShapeBuilder(origins: OriginsOfPlan, unbounded: TidemarkConf.UnboundedJoinPolicy) {
  import PlanShapeBuilder._
  import columns.{id, name}

  private val columns = new PlanColumns
  private val stateful = new StatefulShapes(origins, unbounded, columns)
  private val targets = mutable.HashMap.empty[UUID, WatermarkTarget]
  private val outputs = mutable.HashMap.empty[UUID, WatermarkTarget.Column]
  private var unions = 0
  private var marks = FirstMark

  def build(plan: SparkPlan): Translated = {
    val shape = visit(plan).shape
    Translated(shape, columns.names, origins.hints ++ stateful.hints, targets.toMap, outputs.toMap)
  }

  private def visit(plan: SparkPlan): BuiltShape = withMarked(plan, withoutMarked(plan))

  /** Adds the columns of which only Spark's mark is known: those of a Python map or of a table. */
  private def withMarked(plan: SparkPlan, built: BuiltShape): BuiltShape = {
    val more = plan.output.filter { a =>
      EventTimeMarks.isMarked(a) && !built.has(a) && !origins.computed(a.exprId)
    }.distinctBy(_.exprId)
    if (more.isEmpty) built
    else {
      val ids = more.map(_.exprId)
      val shape =
        if (!built.begun) built.shape
        else {
          marks += 1
          // A map's rows may lack the columns that it read, but they are as old as these.
          val input = built.shape match {
            case PlanShape.Stateless(_, Seq(below), Nil) => below
            case other => other
          }
          PlanShape.Marked(plan.nodeName, marks - 1, more.map(name), built.columns.map(id).toSeq, input)
        }
      built.copy(shape = shape, columns = built.columns ++ ids, marked = built.marked ++ ids)
    }
  }

  private def withoutMarked(plan: SparkPlan): BuiltShape = plan match {
    case scan: InMemoryTableScanExec => visit(scan.relation.cachedPlan)
    case adaptive: AdaptiveSparkPlanExec => visit(adaptive.executedPlan)
    case stage: QueryStageExec => visit(stage.plan)
    case reused: ReusedExchangeExec => ofReused(reused, visit(reused.child))
    case origin: EventTimeWatermarkExec =>
      if (origins.isNoted(origin.nodeId)) requireStateless(origin)
      val below = visit(origin.child)
      val column = origin.eventTime.exprId
      BuiltShape(
        PlanShape.Origin("withWatermark", origins.name(origin.nodeId), name(origin.eventTime), below.shape),
        // Spark removes the mark from the other columns, so a column that had nothing but its mark is no longer event
        // time.
        below.columns -- below.marked + column,
        begun = true)
    case union: UnionExec => ofUnion(union, union.children.map(visit))
    case join: StreamingSymmetricHashJoinExec => stateful.ofJoin(join, visit(join.left), visit(join.right))
    case update: UpdateEventTimeColumnExec =>
      val below = visit(update.child)
      val shape = PlanShape.Declared("event time of state", name(update.eventTime), below.shape)
      BuiltShape(shape, Set(update.eventTime.exprId), below.begun)
    case writer: StateStoreWriter => stateful.of(writer, visit(writer.children.head))
    case note: NoteTimeExec =>
      val below = visit(note.child)
      if (!below.hasWatermark(note.column))
        throw new TidemarkException(NotedTimeErrors.NoteTimeNotEventTime(note.column.name, Nil))
      NotePromise.breaker(below.shape, isMarked = below.marked(note.column.exprId)).foreach { operator =>
        throw new TidemarkException(NotedTimeErrors.NoteTimeNotPromised(note.column.name, operator))
      }
      outputs(note.noteId) = WatermarkTarget.Column(below.shape, id(note.column.exprId))
      below
    case other => ofStateless(other, other.children.map(visit))
  }

  /** Rows that an operator holds in state are emitted after their marks have been passed. */
  private def requireStateless(origin: EventTimeWatermarkExec): Unit = stateIn(origin.child).foreach { writer =>
    val why = s"it has an operator with state, ${writer.nodeName}, which emits rows after their marks have been passed"
    throw new TidemarkException(NotedTimeErrors.NotedSourceUnknown(origin.eventTime.name, why))
  }

  private def stateIn(plan: SparkPlan): Option[SparkPlan] = plan match {
    case writer: StateStoreWriter => Some(writer)
    case scan: InMemoryTableScanExec => stateIn(scan.relation.cachedPlan)
    case adaptive: AdaptiveSparkPlanExec => stateIn(adaptive.executedPlan)
    case stage: QueryStageExec => stateIn(stage.plan)
    case reused: ReusedExchangeExec => stateIn(reused.child)
    case other => other.children.flatMap(stateIn).headOption
  }

  private def ofStateless(plan: SparkPlan, below: Seq[BuiltShape]): BuiltShape = {
    val begun = below.exists(_.begun)
    // A marked column of a table beside an origin has the minimum of all that flows in here.
    val known = below.filter(_.begun == begun).flatMap(_.columns).toSet
    val derived = plan match {
      case project: ProjectExec => EventTimeMarks.derive(project.projectList, known, origins.computed)
      case aggregate: BaseAggregateExec =>
        EventTimeMarks.derive(aggregate.resultExpressions, known, origins.computed) ++
          EventTimeMarks.deriveAggregated(aggregate.aggregateExpressions, aggregate.resultExpressions, known)
      case expand: ExpandExec => EventTimeMarks.deriveExpanded(expand.output, expand.projections, known)
      case generate: GenerateExec =>
        plan.output.map(_.exprId).filter(known).map(id => id -> id) ++
          EventTimeMarks.deriveGenerated(generate.generator, generate.generatorOutput, known)
      case _ => plan.output.map(_.exprId).filter(known).map(id => id -> id)
    }
    val columns = if (origins.takesTimesOut) derived else derived.filterNot { case (to, _) => isInside(plan, to) }
    val same = columns.forall { case (to, from) => to == from } && columns.size == known.size
    val shape =
      if (below.size == 1 && (same || plan.output.isEmpty)) below.head.shape
      else if (!begun) PlanShape.Source(plan.nodeName)
      else PlanShape.Stateless(
        StepLabel.of(plan),
        below.map(_.shape),
        columns.map { case (to, from) => id(to) -> id(from) })
    plan.output.filter(a => columns.exists(_._1 == a.exprId)).foreach(name)
    WatermarkExpression.in(plan).foreach(read(_, plan, below))
    val marked = below.iterator.flatMap(_.marked).toSet
    BuiltShape(shape, columns.map(_._1).toSet, begun, columns.collect { case (to, from) if marked(from) => to }.toSet)
  }

  /** An expression in a node reads the watermark of what flows into that node. */
  private def read(expression: WatermarkExpression, node: SparkPlan, below: Seq[BuiltShape]): Unit = {
    val found: Option[WatermarkTarget.Single] = expression.key match {
      case Some(key) => origins.names.find(_.toString == key).map(WatermarkTarget.Origin)
      case None =>
        for {
          of <- expression.of
          attributes = of.references.toSeq
          input <- below.find(built => attributes.count(built.hasWatermark) == 1)
          column <- attributes.find(input.hasWatermark)
        } yield WatermarkTarget.Column(input.shape, id(column.exprId))
    }
    val columns = node.children.flatMap(_.output).filter(a => below.exists(_.has(a)))
    val of = found.getOrElse(throw WatermarkExpression.noWatermark(expression, columns))
    targets(expression.id) = expression match {
      case _: TimeWindow => WatermarkTarget.Window(of, of.origin)
      case _ => of
    }
  }

  /** A plan that has run reads one shuffle twice, the second time with other column ids. */
  private def ofReused(reused: ReusedExchangeExec, below: BuiltShape): BuiltShape = {
    val columns = reused.child.output.zip(reused.output).filter { case (from, _) => below.has(from) }
    val shape = PlanShape.Stateless(
      reused.nodeName,
      Seq(below.shape),
      columns.map { case (from, to) => name(to) -> id(from.exprId) })
    val marked = columns.collect { case (from, to) if below.marked(from.exprId) => to.exprId }
    BuiltShape(if (below.begun) shape else below.shape, columns.map(_._2.exprId).toSet, below.begun, marked.toSet)
  }

  private def ofUnion(union: UnionExec, below: Seq[BuiltShape]): BuiltShape = {
    // Spark removes an input without event time from the plan of a batch in which it is empty, and with it a union that
    // has one input left. Such a union needs no floor. If it were counted, the floors of other unions would move.
    val number = if (below.count(_.begun) > 1) Some(unions) else None
    unions += number.size
    val columns = union.output.zipWithIndex.collect {
      // As in Spark, the first input decides which columns are event time.
      case (out, position) if below.head.has(union.children.head.output(position)) =>
        val inputs = union.children.zip(below).map { case (child, built) =>
          Some(child.output(position)).filter(built.hasWatermark).map(at => id(at.exprId))
        }
        out -> PlanShape.UnionColumn(name(out), position, inputs)
    }
    val shape = PlanShape.Union("union", number, below.map(_.shape), columns.map(_._2))
    val marked = columns.collect {
      case (out, column) if below.head.marked(union.children.head.output(column.position).exprId) => out.exprId
    }
    BuiltShape(shape, columns.map(_._1.exprId).toSet, below.exists(_.begun), marked.toSet)
  }

  private def isInside(plan: SparkPlan, column: ExprId): Boolean =
    plan.output.exists(a => a.exprId == column && EventTimeMarks.isInside(a.dataType))
}

private[tidemark] object PlanShapeBuilder {

  // Columns of which only the mark is known have floors as unions do, with numbers that no union has.
  private val FirstMark = 1 << 20

  /** @param hints what the user should know about the plan, although it runs
    * @param targets the watermarks that expressions in the plan read, by the expressions' ids
    * @param outputs the watermarks that the query notes, by the ids of their nodes
    */
  final case class Translated(
      shape: PlanShape,
      columnNames: Map[ColumnId, String],
      hints: Seq[TidemarkError],
      targets: Map[UUID, WatermarkTarget],
      outputs: Map[UUID, WatermarkTarget.Column])
}
