package org.apache.spark.sql.tidemark

import scala.collection.immutable.ListMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** Puts an [[OperatorInput]] below each stateful operator that Spark alone could not give its watermark: joins, because
  * each side has its own, and operators into which several event-time columns flow.
  *
  * Runs at the end of the optimizer, in the session of one query. Where a plan has one event-time column and no
  * stream-stream join nothing is changed. Idempotent.
  */
private[tidemark] final class MarkOperatorInputs(origins: () => Option[Origins]) extends Rule[LogicalPlan] {
  import MarkOperatorInputs._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.isStreaming || !plan.exists(_.isInstanceOf[EventTimeWatermark])) plan
    else origins().fold(plan)(known => new Marking(known.computed).visit(UnionMarks.restore(plan))._1)

  private final class Marking(computed: Set[ExprId]) {
    private var declared = 0

    def visit(plan: LogicalPlan): (LogicalPlan, Columns) = {
      val (children, below) = plan.children.map(visit).unzip
      val node = plan.withNewChildren(children)
      if (children.exists(_.isInstanceOf[OperatorInput])) node -> flow(node, below) else mark(node, below)
    }

    private def mark(node: LogicalPlan, below: Seq[Columns]): (LogicalPlan, Columns) = {
      val marked = node match {
        case join: Join if join.left.isStreaming && join.right.isStreaming && below.exists(_.nonEmpty) =>
          val (left, right) = ActiveColumns.ofJoin(join, below.head, below(1))
          val inputs = Seq((join.left, below.head, left), (join.right, below(1), right)).map {
            case (side, times, active) => input(side, times, active, present(side, times), filters = true)
          }
          val marks = AttributeMap(inputs.flatMap(_.output).map(a => a -> a))
          val notNull = NullTimes.condition(join, below, Seq(left, right))
          val condition = (join.condition ++ notNull).reduceOption(And)
          val named = condition.map(_.transform { case a: AttributeReference => marks.getOrElse(a, a) })
          join.copy(left = inputs.head, right = inputs(1), condition = named)
        case aggregate: Aggregate if aggregate.isStreaming && severalOrUnmarked(aggregate.child, below.head) =>
          val active = ActiveColumns.ofAggregate(aggregate, below.head)
          // A column that is only aggregated leaves the state as a plain value.
          val grouped = aggregate.groupingExpressions.collect {
            case named: NamedExpression if below.head.contains(named.toAttribute.exprId) => named.toAttribute
          }
          val in = input(aggregate.child, below.head, active, grouped, filters = active.nonEmpty)
          val marks = AttributeMap(in.output.map(a => a -> a))
          val grouping =
            aggregate.groupingExpressions.map(_.transform { case a: AttributeReference => marks.getOrElse(a, a) })
          aggregate.copy(groupingExpressions = grouping, child = in)
        case dedup: Deduplicate if dedup.isStreaming && severalOrUnmarked(dedup.child, below.head) =>
          val in = passed(dedup.child, below.head, ActiveColumns.ofKeys(dedup.keys, below.head))
          dedup.copy(keys = remark(dedup.keys, in), child = in)
        case dedup: DeduplicateWithinWatermark if severalOrUnmarked(dedup.child, below.head) =>
          val in = passed(dedup.child, below.head, ActiveColumns.ofKeys(dedup.keys, below.head))
          dedup.copy(keys = remark(dedup.keys, in), child = in)
        case groups if isGroupsWithState(groups) && severalOrUnmarked(groups.children.head, below.head) =>
          val in = passed(groups.children.head, below.head, ActiveColumns.declaredLast(below.head))
          groups.withNewChildren(in +: groups.children.tail)
        case other => other
      }
      marked -> flow(marked, below)
    }

    /** The input of an operator of which every row comes out, if at all, in the batch in which it came in. */
    private def passed(child: LogicalPlan, columns: Columns, active: Option[ExprId]): OperatorInput =
      input(child, columns, active, Nil, filters = false)

    private def input(
        child: LogicalPlan,
        columns: Columns,
        active: Option[ExprId],
        kept: Seq[Attribute],
        filters: Boolean): OperatorInput = {
      val marked = present(child, columns).find(a => active.contains(a.exprId)).map { a =>
        EventTimeColumns.mark(a, columns(a.exprId).delayMillis)
      }
      val carried = kept.filterNot(a => active.contains(a.exprId)).distinctBy(_.exprId)
      OperatorInput(marked, carried, filters, child)
    }

    private def flow(node: LogicalPlan, below: Seq[Columns]): Columns = {
      val all: Columns = below.foldLeft(ListMap.empty: Columns)(_ ++ _)
      def renamed(pairs: Seq[(ExprId, ExprId)]): Columns = ListMap.from(pairs.map { case (to, from) =>
        to -> all(from)
      })
      node match {
        case origin: EventTimeWatermark =>
          declared += 1
          val delay = EventTimeWatermark.getDelayMs(origin.delay)
          all.updated(origin.eventTime.exprId, EventTimeColumn(delay, declared))
        case update: UpdateEventTimeWatermarkColumn =>
          declared += 1
          val delay = update.delay.fold(0L)(EventTimeWatermark.getDelayMs)
          ListMap(update.eventTime.exprId -> EventTimeColumn(delay, declared))
        case project: Project => renamed(EventTimeColumns.derive(project.projectList, all.contains, computed))
        case aggregate: Aggregate =>
          renamed(EventTimeColumns.derive(aggregate.aggregateExpressions, all.contains, computed))
        case expand: Expand => renamed(EventTimeColumns.deriveExpanded(expand.output, expand.projections, all.contains))
        case _: Union =>
          val first = below.head
          ListMap.from(node.output.flatMap(a => first.get(a.exprId).map(a.exprId -> _)))
        case Join(_, _, LeftSemi, _, _) => below.head
        case _ => ListMap.from(node.output.flatMap(a => all.get(a.exprId).map(a.exprId -> _)))
      }
    }
  }
}

private[tidemark] object MarkOperatorInputs {

  /** An event-time column on an edge: the delay of its origin, and the how-many-th origin of the plan that is. */
  final case class EventTimeColumn(delayMillis: Long, declared: Int)
  type Columns = ListMap[ExprId, EventTimeColumn]

  private def severalOrUnmarked(child: LogicalPlan, columns: Columns): Boolean = {
    val times = present(child, columns)
    times.size > 1 || times.exists(!EventTimeColumns.isMarked(_))
  }

  private def present(child: LogicalPlan, columns: Columns): Seq[Attribute] =
    child.output.filter(a => columns.contains(a.exprId)).distinctBy(_.exprId)

  private def remark(keys: Seq[Attribute], in: OperatorInput): Seq[Attribute] = {
    val marks = AttributeMap(in.output.map(a => a -> a))
    keys.map(key => marks.getOrElse(key, key))
  }

  private def isGroupsWithState(plan: LogicalPlan): Boolean = plan.isStreaming &&
    (plan match {
      case _: FlatMapGroupsWithState | _: FlatMapGroupsInPandasWithState => true
      case _: TransformWithState | _: TransformWithStateInPySpark => true
      case _ => false
    })
}
