package org.apache.spark.sql.tidemark.planning

import java.util.Locale

import scala.collection.mutable

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.{OperatorId, Side}
import io.tidemark.core.plan.PlanShape

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.tidemark.columns.{EventTimeColumns, LateRowFilter, PlanOrigins}
import org.apache.spark.sql.tidemark.exec.OperatorInputExec

/** Translates stateful operators, for [[PlanShapeBuilder]]. */
private[planning] final class StatefulShapes(
    origins: PlanOrigins,
    unbounded: TidemarkConf.Unbounded,
    columns: PlanColumns) {
  import columns.{id, name}

  private val found = mutable.LinkedHashSet.empty[TidemarkError]

  /** What the user should know about these operators, although the query runs. */
  def notes: Seq[TidemarkError] = found.toSeq

  def ofJoin(join: StreamingSymmetricHashJoinExec, left: BuiltShape, right: BuiltShape): BuiltShape = {
    val bounds = new JoinBounds(join)
    def side(at: Side, built: BuiltShape, child: SparkPlan): PlanShape.JoinSide = {
      val active = bounds.active(at)
      val comesOut = at == Side.Left || join.joinType != LeftSemi
      val bound = bounds.bound(at)
      val out =
        if (bound.nonEmpty && bounds.boundsActive(at)) PlanShape.ActiveOut.Bounded
        else unboundedOut(join, at, active.nonEmpty && comesOut)
      val carried = carriedIn(child)
      PlanShape.JoinSide(built.shape, active.map(name), bound, out, carried.map(name), comesOut, follows(built.shape))
    }
    val untold = Seq(left -> join.left, right -> join.right).flatMap { case (built, child) =>
      child.output.filter(a => built.has(a) && !EventTimeColumns.hasTime(a))
    }
    untold.foreach(a => found += TidemarkError.TimeInsideState(a.name, "join"))
    val shape = PlanShape.Join(
      s"join (${join.joinType.sql.toLowerCase(Locale.ROOT)})",
      operator(join),
      side(Side.Left, left, join.left),
      side(Side.Right, right, join.right))
    val columns = join.output.map(_.exprId).toSet -- untold.map(_.exprId)
    val active = Seq(bounds.left, bounds.right).flatten.map(_.exprId)
    BuiltShape(
      shape,
      (left.columns ++ right.columns ++ active).intersect(columns),
      left.begun || right.begun,
      (left.marked ++ right.marked).intersect(columns))
  }

  /** Whether all inputs of a join side follow the other side while they are idle. */
  private def follows(side: PlanShape): Boolean = {
    val below = PlanShape.postOrder(side).collect { case origin: PlanShape.Origin => origin.name }
    below.nonEmpty && below.forall(origins.rules(_).followsInJoins)
  }

  private def unboundedOut(join: StreamingSymmetricHashJoinExec, side: Side, matters: Boolean): PlanShape.ActiveOut = {
    if (matters) {
      val error = TidemarkError.UnboundedJoinSide(
        join.leftKeys.zip(join.rightKeys).map { case (l, r) => s"${l.sql} = ${r.sql}" }.mkString("on ", " and ", ""),
        side.name)(unbounded)
      if (unbounded == TidemarkConf.Unbounded.Refuse) throw new TidemarkException(error)
      found += error
    }
    if (unbounded == TidemarkConf.Unbounded.Hold) PlanShape.ActiveOut.Withheld else PlanShape.ActiveOut.Unbounded
  }

  def of(writer: StateStoreWriter, below: BuiltShape): BuiltShape = {
    val input = writer.children.head
    // A limit uses no event time; every row passes.
    val active =
      if (writer.isInstanceOf[StreamingGlobalLimitExec]) None else input.output.find(EventTimeColumns.isMarked)
    if (active.nonEmpty && LateRowFilters.of(writer) == LateRowFilter.CompleteAggregation)
      found += TidemarkError.CompleteMode(s"${label(writer)} #${operator(writer).value}")
    val known = writer.output.filter(a => below.has(a) || active.exists(_.exprId == a.exprId)).distinctBy(_.exprId)
    val inside = if (isAggregation(writer)) carriedIn(input) else Nil
    val keeps = isAggregation(writer) && active.nonEmpty
    val (passes, carried) =
      if (keeps) (known.filter(a => active.exists(_.exprId == a.exprId)), inside) else (known, Nil)
    if (!keeps)
      for (a <- inside if !known.exists(_.exprId == a.exprId))
        found += TidemarkError.TimeInsideState(a.name, label(writer))
    val shape = PlanShape.Stateful(
      label(writer),
      operator(writer),
      below.shape,
      active.map(name),
      passes.map(name),
      carried.map(name))
    // A column whose time cannot be read leaves the state as any other value.
    val out = known.map(_.exprId).filter(id => (passes ++ carried).exists(_.exprId == id))
    withBuffers(writer, BuiltShape(shape, out.toSet, below.begun, below.marked), carried)
  }

  private def isAggregation(writer: StateStoreWriter): Boolean =
    writer.isInstanceOf[StateStoreSaveExec] || writer.isInstanceOf[SessionWindowStateStoreSaveExec]

  /** The carried columns of an operator's input, in the order in which it records them: those in the operator's state,
    * and those inside a value in its state.
    */
  private def carriedIn(input: SparkPlan): Seq[Attribute] =
    LateRowFilters.path(input).collectFirst { case noting: OperatorInputExec => noting.carried }.getOrElse(Nil)

  /** A value with event time inside it leaves the state in the buffer of the function that keeps it. */
  private def withBuffers(writer: StateStoreWriter, built: BuiltShape, carried: Seq[Attribute]): BuiltShape = {
    val functions = LateRowFilters.path(writer.children.head).collectFirst { case step: BaseAggregateExec =>
      step.aggregateExpressions
    }
    val times = carried.map(_.exprId).toSet
    val buffers = EventTimeColumns.buffered(functions.getOrElse(Nil), times)
    if (buffers.isEmpty) built
    else {
      val columns = built.columns.toSeq.map(c => id(c) -> id(c)) ++ buffers.map { case (to, from) =>
        name(to) -> id(from)
      }
      built.copy(
        shape = PlanShape.Stateless("values", Seq(built.shape), columns),
        columns = built.columns ++ buffers.map(_._1.exprId))
    }
  }

  private def operator(writer: StateStoreWriter): OperatorId = OperatorId(writer.stateInfo.get.operatorId)

  private def label(writer: StateStoreWriter): String = writer.shortName match {
    case "stateStoreSave" => "aggregation"
    case "sessionWindowStateStoreSaveExec" => "session aggregation"
    case "dedupe" => "dropDuplicates"
    case "dedupeWithinWatermark" => "dropDuplicatesWithinWatermark"
    case other => other
  }
}
