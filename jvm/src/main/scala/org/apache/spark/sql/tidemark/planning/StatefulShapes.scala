package org.apache.spark.sql.tidemark.planning

import java.util.Locale

import scala.collection.mutable

import io.tidemark.{OrderErrors, TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.{OperatorId, Side}
import io.tidemark.core.plan.PlanShape

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, LateRowRule, OriginsOfPlan}
import org.apache.spark.sql.tidemark.exec.OperatorInputExec
import org.apache.spark.sql.tidemark.exec.order.HoldExec
import org.apache.spark.sql.types.{TimestampNTZType, TimestampType}

/** Translates stateful operators, for [[PlanShapeBuilder]]. */
private[planning] final class StatefulShapes(
    origins: OriginsOfPlan,
    unbounded: TidemarkConf.UnboundedJoinPolicy,
    columns: PlanColumns) {
  import StatefulShapes.label
  import columns.{id, name}

  private val found = mutable.LinkedHashSet.empty[TidemarkError]

  /** What the user should know about these operators, although the query runs. */
  def hints: Seq[TidemarkError] = found.toSeq

  def ofJoin(join: StreamingSymmetricHashJoinExec, left: BuiltShape, right: BuiltShape): BuiltShape = {
    val bounds = new JoinBounds(join)
    def side(at: Side, built: BuiltShape, child: SparkPlan): PlanShape.JoinSide = {
      val active = bounds.active(at)
      val comesOut = at == Side.Left || join.joinType != LeftSemi
      val bound = bounds.bound(at)
      val out =
        if (bound.nonEmpty && bounds.boundsActive(at)) PlanShape.ActiveOut.Bounded
        else unboundedOut(join, at, active.nonEmpty && comesOut, range(join, bounds, at))
      val carried = carriedIn(child)
      PlanShape.JoinSide(built.shape, active.map(name), bound, out, carried.map(name), comesOut, follows(built.shape))
    }
    val withoutTime = Seq(left -> join.left, right -> join.right).flatMap { case (built, child) =>
      child.output.filter(a => built.has(a) && !EventTimeMarks.hasTime(a))
    }
    withoutTime.foreach(a => found += TidemarkError.TimeInsideState(a.name, "join"))
    val shape = PlanShape.Join(
      s"join (${join.joinType.sql.toLowerCase(Locale.ROOT)})",
      operator(join),
      side(Side.Left, left, join.left),
      side(Side.Right, right, join.right),
      emitsAtOnce = join.joinType == Inner || join.joinType == LeftSemi)
    val columns = join.output.map(_.exprId).toSet -- withoutTime.map(_.exprId)
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

  /** A condition that would bound a side, for the user to adapt. Only with names and times that need no explanation, and
    * not beside an equal key that is event time, which decides alone.
    */
  private def range(join: StreamingSymmetricHashJoinExec, bounds: JoinBounds, side: Side): Option[String] = {
    val names = (join.left.output ++ join.right.output).map(_.name.toLowerCase(Locale.ROOT))
    def isPlain(column: Attribute) = (column.dataType == TimestampType || column.dataType == TimestampNTZType) &&
      column.name.matches("[A-Za-z]\\w*") && names.count(_ == column.name.toLowerCase(Locale.ROOT)) == 1
    for (time <- bounds.active(side) if isPlain(time) && bounds.key.isEmpty; that <- bounds.active(side.other)
      if isPlain(that))
      yield s"${that.name} <= ${time.name} + INTERVAL 1 HOUR"
  }

  private def unboundedOut(
      join: StreamingSymmetricHashJoinExec,
      side: Side,
      matters: Boolean,
      range: Option[String]): PlanShape.ActiveOut = {
    if (matters) {
      val error = TidemarkError.UnboundedJoinSide(
        join.leftKeys.zip(join.rightKeys).map { case (l, r) => s"${l.sql} = ${r.sql}" }.mkString("on ", " and ", ""),
        side.name)(unbounded, range)
      if (unbounded == TidemarkConf.UnboundedJoinPolicy.Refuse) throw new TidemarkException(error)
      found += error
    }
    if (unbounded == TidemarkConf.UnboundedJoinPolicy.Hold) PlanShape.ActiveOut.Withheld
    else PlanShape.ActiveOut.Unbounded
  }

  def of(writer: StateStoreWriter, below: BuiltShape): BuiltShape = {
    val input = writer.children.head
    // A limit uses no event time; every row passes.
    val isLimit = writer.isInstanceOf[StreamingGlobalLimitExec] && !writer.isInstanceOf[HoldExec]
    val active = if (isLimit) None else input.output.find(EventTimeMarks.isMarked)
    val filter = ChooseLateRowRule.of(writer)
    refuseUnordered(writer, below)
    if (active.nonEmpty && filter == LateRowRule.CompleteAggregation)
      found += TidemarkError.CompleteMode(s"${label(writer)} #${operator(writer).value}")
    val known = writer.output.filter(a => below.has(a) || active.exists(_.exprId == a.exprId)).distinctBy(_.exprId)
    val inside = if (keepsRows(writer)) carriedIn(input) else Nil
    val keeps = keepsRows(writer) && active.nonEmpty
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
      carried.map(name),
      emitsAtOnce(writer),
      dropsLate = filter == LateRowRule.Order ||
        active.nonEmpty && filter.withoutInput != LateRowRule.Dropper.Nothing,
      eviction = eviction(writer))
    // A column whose time cannot be read leaves the state as any other value.
    val out = known.map(_.exprId).filter(id => (passes ++ carried).exists(_.exprId == id))
    withBuffers(writer, BuiltShape(shape, out.toSet, below.begun, below.marked), carried)
  }

  /** Whether a row may leave the operator in a later batch, with the other event times that it came with. */
  private def keepsRows(writer: StateStoreWriter): Boolean = isAggregation(writer) || writer.isInstanceOf[HoldExec]

  private def isAggregation(writer: StateStoreWriter): Boolean =
    writer.isInstanceOf[StateStoreSaveExec] || writer.isInstanceOf[SessionWindowStateStoreSaveExec]

  /** Rows cannot wait where no watermark will ever pass them. An aggregation that emits a group again has no order of its
    * rows; Spark refuses its own operators there.
    */
  private def refuseUnordered(writer: StateStoreWriter, below: BuiltShape): Unit = writer match {
    case hold: HoldExec if !below.begun =>
      throw new TidemarkException(OrderErrors.OrderNotEventTime(hold.order.time.name, Nil))
    case hold: HoldExec if !hold.outputMode.contains(InternalOutputModes.Append) =>
      hold.child.collectFirst { case it: StateStoreWriter if isAggregation(it) => it }.foreach { counts =>
        throw new TidemarkException(OrderErrors.OrderOfUpdates(hold.order.time.name, label(counts)))
      }
    case _ =>
  }

  /** The carried columns of an operator's input, in the order in which it records them: those in the operator's state,
    * and those inside a value in its state.
    */
  private def carriedIn(input: SparkPlan): Seq[Attribute] =
    ChooseLateRowRule.path(input).collectFirst { case noting: OperatorInputExec => noting.carried }.getOrElse(Nil)

  /** A value with event time inside it leaves the state in the buffer of the function that keeps it. */
  private def withBuffers(writer: StateStoreWriter, built: BuiltShape, carried: Seq[Attribute]): BuiltShape = {
    val functions = ChooseLateRowRule.path(writer.children.head).collectFirst { case step: BaseAggregateExec =>
      step.aggregateExpressions
    }
    val times = carried.map(_.exprId).toSet
    val buffers = EventTimeMarks.buffered(functions.getOrElse(Nil), times)
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

  /** Functions of groups may emit at a timer, so theirs may wait for the watermark. */
  private def emitsAtOnce(writer: StateStoreWriter): Boolean = writer match {
    case save: StateStoreSaveExec => !save.outputMode.contains(InternalOutputModes.Append)
    case save: SessionWindowStateStoreSaveExec => !save.outputMode.contains(InternalOutputModes.Append)
    case _: HoldExec => false
    case other => ChooseLateRowRule.of(other) != LateRowRule.EventTimeFunction
  }

  /** By what Spark's operators look for in their keys. */
  private def eviction(writer: StateStoreWriter): PlanShape.Eviction = {
    def byKey(keys: Seq[Attribute]) =
      if (keys.exists(EventTimeMarks.isMarked)) PlanShape.Eviction.ByWatermark else PlanShape.Eviction.Never
    ChooseLateRowRule.of(writer) match {
      case LateRowRule.CompleteAggregation => PlanShape.Eviction.Never
      case LateRowRule.NoEventTime => PlanShape.Eviction.ByItself
      case _ => writer match {
          case save: StateStoreSaveExec if save.keyExpressions.isEmpty => PlanShape.Eviction.ByItself
          case save: StateStoreSaveExec => byKey(save.keyExpressions)
          case dedup: StreamingDeduplicateExec => byKey(dedup.keyExpressions)
          case _ => PlanShape.Eviction.ByWatermark
        }
    }
  }

  private def operator(writer: StateStoreWriter): OperatorId = OperatorId(writer.stateInfo.get.operatorId)
}

private[planning] object StatefulShapes {

  /** What people call an operator. */
  def label(writer: StateStoreWriter): String = writer.shortName match {
    case HoldExec.Name => "in order"
    case "stateStoreSave" => "aggregation"
    case "sessionWindowStateStoreSaveExec" => "session aggregation"
    case "dedupe" => "dropDuplicates"
    case "dedupeWithinWatermark" => "dropDuplicatesWithinWatermark"
    case "globalLimit" => "limit"
    case "transformWithStateInPySparkExec" => "transformWithState"
    case other => other.stripSuffix("Exec")
  }
}
