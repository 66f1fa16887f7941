package org.apache.spark.sql.tidemark.check

import java.util.Locale

import scala.util.Try

import io.tidemark.core.why.Trap

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.{FullOuter, JoinType, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes.{Append, Update}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, TrackedColumns}
import org.apache.spark.sql.types.TimestampType

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
          .map(node => Trap.UpdateChain(labelOf(node)))
      else if (says.contains("without a watermark in the join keys")) plan.collectFirst {
        case join: Join if isBetweenStreams(join) && Outer(join.joinType) => Trap.OuterJoinNoBound(labelOf(join))
      }
      else timeout
    found.getOrElse(Trap.SparkRefuses(says))
  }

  /** Spark looks at the topmost aggregation only. Tasks of another one fail if it groups by no event time. */
  private def lower: Seq[Trap] =
    if (mode == Append && isChecked && refused.isEmpty) aggregations.filterNot(groupsByTime).flatMap(unbounded) else Nil

  private def timeout: Option[Trap] = plan.collectFirst {
    case groups: FlatMapGroupsWithState if groups.timeout == EventTimeTimeout && !hasWatermark(groups) =>
      Trap.StateTimeoutNoWatermark(labelOf(groups))
    case groups: FlatMapGroupsInPandasWithState if groups.timeout == EventTimeTimeout && !hasWatermark(groups) =>
      Trap.StateTimeoutNoWatermark(labelOf(groups))
  }

  private def aggregations: Seq[Aggregate] = plan.collect { case one: Aggregate if one.isStreaming => one }

  private def groupsByTime(one: Aggregate): Boolean = {
    val times = TrackedColumns.times(tracked.of(one.child))
    one.groupingExpressions.exists {
      case key: NamedExpression => times.contains(key.exprId) || EventTimeMarks.isMarked(key)
      case _ => false
    }
  }

  /** A single group is no state that grows. */
  private def keepsAll(one: Aggregate): Option[Trap] =
    if (one.groupingExpressions.isEmpty || !hasWatermark(one)) None else lostIn(one)

  /** Why an aggregation in append mode is refused. */
  private def lostIn(one: Aggregate): Option[Trap] =
    keyOfOtherFrame(one, mode == Append).orElse(if (groupsByTime(one)) None else unbounded(one))

  private def unbounded(one: Aggregate): Option[Trap] = {
    val isAppend = mode == Append
    val of = labelOf(one)
    val times = TrackedColumns.times(tracked.of(one.child))
    val below = one.child.collectFirst { case node: EventTimeWatermark => node.eventTime.name }
    val time = one.child.output.find(a => times.contains(a.exprId)).map(_.name).orElse(below)
    time match {
      case None => Some(Trap.NoEventTimeAppend(of))
      case Some(name) =>
        Some(lostKey(one, isAppend).orElse(lostInMap(one, name, isAppend)).getOrElse(
          Trap.GroupsByNoEventTime(of, name, isAppend)))
    }
  }

  /** A key that is computed from event time below the aggregation or in it, and is no event time. */
  private def lostKey(one: Aggregate, isAppend: Boolean): Option[Trap] =
    one.groupingExpressions.flatMap { key =>
      for {
        by <- madeBy(key, one)
        time <- by.references.find(a => isTimeBelow(a, one.child))
      } yield Trap.MarkLost(labelOf(one), nameOf(key, one), OriginTraps.textOf(by), time.name, isAppend)
    }.headOption

  /** A key by a time that comes out of a map. The map's columns are others than those below it. */
  private def lostInMap(one: Aggregate, time: String, isAppend: Boolean): Option[Trap] =
    for {
      key <- one.groupingExpressions.find { key =>
        madeBy(key, one).getOrElse(key).references.exists(_.dataType == TimestampType)
      }
      map <- one.child.collectFirst { case node if Maps.contains(node.nodeName) && hasWatermark(node) => node }
    } yield Trap.MarkLost(labelOf(one), nameOf(key, one), Maps(map.nodeName), time, isAppend)

  /** A key that names an event time as it was before its watermark was set: Spark then does not see the watermark. */
  private def keyOfOtherFrame(one: Aggregate, isAppend: Boolean): Option[Trap] =
    one.groupingExpressions.flatMap { key =>
      for {
        time <- madeBy(key, one).getOrElse(key).references.find { a =>
          !EventTimeMarks.isMarked(a) &&
          one.child.exists(_.output.exists(b => b.exprId == a.exprId && EventTimeMarks.isMarked(b)))
        }
      } yield Trap.MarkOfOtherFrame(labelOf(one), time.name, isAppend)
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
    case one: Deduplicate if one.isStreaming =>
      timeOf(one) match {
        case None => Some(Trap.DedupForEver(labelOf(one)))
        case Some(time) => Option.when(one.keys.size > 1)(Trap.DedupEqualTimes(labelOf(one), time.name))
      }
  }.flatten

  /** `DISTINCT` in SQL, which is an aggregation by all columns. */
  private def distinct: Seq[Trap] = plan.collect {
    case one: Distinct if one.isStreaming && !one.output.exists(EventTimeMarks.isMarked) =>
      Trap.DedupForEver(labelOf(one))
  }

  /** The event-time column among the keys. */
  private def timeOf(one: Deduplicate): Option[Attribute] = {
    val times = TrackedColumns.times(tracked.of(one.child))
    one.keys.find(key => times.contains(key.exprId) || EventTimeMarks.isMarked(key))
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
    case one: Aggregate if one.groupingExpressions.isEmpty => "aggregation of all rows"
    case one: Aggregate => s"aggregation by ${one.groupingExpressions.map(OriginTraps.textOf).mkString(", ")}"
    case join: Join => s"join (${join.joinType.sql.toLowerCase(Locale.ROOT)})"
    case one: Deduplicate => s"dropDuplicates by ${one.keys.map(_.name).mkString(", ")}"
    case _: Distinct => "DISTINCT"
    case _: DeduplicateWithinWatermark => "dropDuplicatesWithinWatermark"
    case _ => "function with state"
  }

  /** Spark's message without the plan that it appends. */
  private def firstLine(refusal: AnalysisException): String =
    Try(refusal.getMessage.linesIterator.next()).getOrElse(refusal.toString).stripSuffix(";")
}
