package org.apache.spark.sql.tidemark.check

import java.util.Locale

import scala.collection.mutable
import scala.util.Try

import io.tidemark.core.why.{OperatorTrap, Trap}

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  ExprId,
  GetStructField,
  NamedExpression,
  PreciseTimestampConversion
}
import org.apache.spark.sql.catalyst.plans.{FullOuter, JoinType, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes.{Append, Update}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, TrackedColumns}
import org.apache.spark.sql.types.{TimestampNTZType, TimestampType}

/** What the operators with state of an analyzed plan show: those that Spark refuses, and those that keep all state.
  * @param isChecked whether Spark refuses any: a setting of its own can switch that off
  */
private[check] final class StateTraps(
    plan: LogicalPlan,
    tracked: TrackedColumns,
    mode: OutputMode,
    isChecked: Boolean) {
  import StateTraps._

  /** At most one trap for what Spark refuses, because it names the first only. */
  def all: Seq[Trap] =
    refused.toSeq ++ lower ++ deduplications ++
      (if (mode == Update) aggregations.flatMap(keepsAll) ++ distinct else Nil)

  lazy val refused: Option[Trap] =
    try {
      if (isChecked) UnsupportedOperationChecker.checkForStreaming(plan, mode)
      None
    } catch { case e: AnalysisException => Some(reason(e)) }

  /** Spark names the first problem that it finds. So a trap has to fit its words, and not the plan alone. */
  private def reason(refusal: AnalysisException): Trap = {
    val says = firstLine(refusal)
    val found =
      if (says.contains("aggregations without watermark")) aggregations.flatMap(lostIn).headOption
      else if (says.contains("global watermark"))
        plan.collectFirst { case node if keepsState(node) && node.children.exists(_.exists(keepsState)) => node }
          .map(node => OperatorTrap.UpdateChain(labelOf(node)))
      else if (says.contains("without a watermark in the join keys")) plan.collectFirst {
        case join: Join if isBetweenStreams(join) && Outer(join.joinType) =>
          OperatorTrap.OuterJoinNoBound(labelOf(join))
      }
      else timeout
    found.getOrElse(Trap.SparkRefuses(says))
  }

  /** Spark looks at the topmost aggregation only. Tasks of another one fail if it groups by no event time. */
  private def lower: Seq[Trap] =
    if (mode == Append && isChecked && refused.isEmpty) aggregations.filterNot(groupsByTime).flatMap(unbounded) else Nil

  private def timeout: Option[Trap] = plan.collectFirst {
    case groups: FlatMapGroupsWithState if groups.timeout == EventTimeTimeout && !hasWatermark(groups) =>
      OperatorTrap.StateTimeoutNoWatermark(labelOf(groups))
    case groups: FlatMapGroupsInPandasWithState if groups.timeout == EventTimeTimeout && !hasWatermark(groups) =>
      OperatorTrap.StateTimeoutNoWatermark(labelOf(groups))
  }

  private def aggregations: Seq[Aggregate] =
    plan.collect { case operator: Aggregate if operator.isStreaming => operator }

  private def groupsByTime(operator: Aggregate): Boolean = {
    val times = TrackedColumns.times(tracked.of(operator.child))
    operator.groupingExpressions.exists {
      case key: NamedExpression => times.contains(key.exprId) || EventTimeMarks.isMarked(key)
      case _ => false
    }
  }

  /** A single group is not state that grows. */
  private def keepsAll(operator: Aggregate): Option[Trap] =
    if (operator.groupingExpressions.isEmpty || !hasWatermark(operator)) None else lostIn(operator)

  /** Why an aggregation in append mode is refused. */
  private def lostIn(operator: Aggregate): Option[Trap] =
    keyOfOtherFrame(operator, mode == Append).orElse(if (groupsByTime(operator)) None else unbounded(operator))

  private def unbounded(operator: Aggregate): Option[Trap] = {
    val isAppend = mode == Append
    val of = labelOf(operator)
    val times = TrackedColumns.times(tracked.of(operator.child))
    val below = operator.child.collectFirst { case node: EventTimeWatermark => node.eventTime.name }
    val time = operator.child.output.find(a => times.contains(a.exprId)).map(_.name).orElse(below)
    time match {
      case None => Some(OperatorTrap.NoEventTimeAppend(of))
      case Some(name) =>
        Some(lostKey(operator, isAppend).orElse(lostInMap(operator, name, isAppend)).getOrElse(
          OperatorTrap.GroupsByNoEventTime(of, name, isAppend)))
    }
  }

  /** A key that is computed from event time below the aggregation or in it, and is not event time. */
  private def lostKey(operator: Aggregate, isAppend: Boolean): Option[Trap] =
    operator.groupingExpressions.flatMap { key =>
      madeBy(key, operator).flatMap(lostAt(operator, nameOf(key, operator), _, isAppend))
    }.headOption

  /** Where a column or what it is made of is computed from event time. */
  private def lostAt(
      operator: Aggregate,
      column: String,
      by: Expression,
      isAppend: Boolean,
      seen: mutable.Set[ExprId] = mutable.Set.empty): Option[Trap] = {
    def isTime(a: Attribute) = isTimeBelow(a, operator.child)
    def ofWindow = by.collectFirst {
      case field @ GetStructField(window: Attribute, _, _) if isTime(window) =>
        val end = s"${window.name}.${field.extractFieldName}"
        OperatorTrap.WindowOfWindowEnd(labelOf(operator), end, window.name, isAppend)
    }
    def here = by.references.find(isTime).map { time =>
      val mayBeMarked = by.dataType == TimestampType || by.dataType == TimestampNTZType
      OperatorTrap.MarkLost(labelOf(operator), column, OriginTraps.textOf(by), time.name, isAppend, mayBeMarked)
    }
    def below = by.references.iterator.filter(a => seen.add(a.exprId)).flatMap { a =>
      OriginTraps.madeBy(a.exprId, operator.child).flatMap(lostAt(operator, a.name, _, isAppend, seen))
    }.nextOption()
    ofWindow.filter(_ => by.exists(_.isInstanceOf[PreciseTimestampConversion])).orElse(here).orElse(below)
  }

  /** A key by a time that comes out of a map. The map's columns are others than those below it. */
  private def lostInMap(operator: Aggregate, time: String, isAppend: Boolean): Option[Trap] =
    for {
      key <- operator.groupingExpressions.find { key =>
        madeBy(key, operator).getOrElse(key).references.exists(_.dataType == TimestampType)
      }
      map <- operator.child.collectFirst { case node if Maps.contains(node.nodeName) && hasWatermark(node) => node }
    } yield OperatorTrap.MarkLost(labelOf(operator), nameOf(key, operator), Maps(map.nodeName), time, isAppend)

  /** A key that names an event time as it was before its watermark was set: Spark then does not see the watermark. */
  private def keyOfOtherFrame(operator: Aggregate, isAppend: Boolean): Option[Trap] =
    operator.groupingExpressions.flatMap { key =>
      for {
        time <- madeBy(key, operator).getOrElse(key).references.find { a =>
          !EventTimeMarks.isMarked(a) &&
          operator.child.exists(_.output.exists(b => b.exprId == a.exprId && EventTimeMarks.isMarked(b)))
        }
      } yield OperatorTrap.MarkOfOtherFrame(labelOf(operator), time.name, isAppend)
    }.headOption

  private def madeBy(key: Expression, in: Aggregate): Option[Expression] = key match {
    case column: Attribute => OriginTraps.madeBy(column.exprId, in.child)
    case expression => Some(expression)
  }

  private def isTimeBelow(column: Attribute, in: LogicalPlan): Boolean = in.exists { node =>
    node.output.exists(_.exprId == column.exprId) && TrackedColumns.times(tracked.of(node)).contains(column.exprId)
  }

  private def nameOf(key: Expression, in: Aggregate): String = key match {
    case column: NamedExpression => column.name
    case other => in.aggregateExpressions.find(_.children.exists(_.semanticEquals(other))).fold(other.sql)(_.name)
  }

  private def deduplications: Seq[Trap] = plan.collect {
    case operator: Deduplicate if operator.isStreaming =>
      timeOf(operator) match {
        case None => Some(OperatorTrap.DedupForever(labelOf(operator)))
        case Some(time) =>
          Option.when(operator.keys.size > 1)(OperatorTrap.DedupEqualTimes(labelOf(operator), time.name))
      }
  }.flatten

  /** `DISTINCT` in SQL, which is an aggregation by all columns. */
  private def distinct: Seq[Trap] = plan.collect {
    case operator: Distinct if operator.isStreaming && !operator.output.exists(EventTimeMarks.isMarked) =>
      OperatorTrap.DedupForever(labelOf(operator))
  }

  /** The event-time column among the keys. */
  private def timeOf(operator: Deduplicate): Option[Attribute] = {
    val times = TrackedColumns.times(tracked.of(operator.child))
    operator.keys.find(key => times.contains(key.exprId) || EventTimeMarks.isMarked(key))
  }
}

private[check] object StateTraps {
  private val Outer = Set[JoinType](LeftOuter, RightOuter, FullOuter)

  /** Nodes all of whose columns are new. */
  private val Maps = Map(
    "SerializeFromObject" -> "a typed map",
    "MapInPandas" -> "mapInPandas",
    "MapInArrow" -> "mapInArrow",
    "PythonMapInArrow" -> "mapInArrow")

  private def hasWatermark(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[EventTimeWatermark])

  private def isBetweenStreams(join: Join): Boolean = join.left.isStreaming && join.right.isStreaming

  def keepsState(node: LogicalPlan): Boolean = node.isStreaming &&
    (node match {
      case join: Join => isBetweenStreams(join)
      case _: Aggregate | _: Distinct | _: Deduplicate | _: DeduplicateWithinWatermark => true
      case _: FlatMapGroupsWithState | _: FlatMapGroupsInPandasWithState => true
      case _: TransformWithState | _: TransformWithStateInPySpark => true
      case _ => false
    })

  /** An operator in words, before Spark has numbered it. */
  def labelOf(node: LogicalPlan): String = node match {
    case operator: Aggregate if operator.groupingExpressions.isEmpty => "aggregation of all rows"
    case operator: Aggregate => s"aggregation by ${operator.groupingExpressions.map(OriginTraps.textOf).mkString(", ")}"
    case join: Join => s"join (${join.joinType.sql.toLowerCase(Locale.ROOT)})"
    case operator: Deduplicate => s"dropDuplicates by ${operator.keys.map(_.name).mkString(", ")}"
    case _: Distinct => "DISTINCT"
    case _: DeduplicateWithinWatermark => "dropDuplicatesWithinWatermark"
    case _ => "function with state"
  }

  /** Spark's message without the plan that it appends. */
  private def firstLine(refusal: AnalysisException): String =
    Try(refusal.getMessage.linesIterator.next()).getOrElse(refusal.toString).stripSuffix(";")
}
