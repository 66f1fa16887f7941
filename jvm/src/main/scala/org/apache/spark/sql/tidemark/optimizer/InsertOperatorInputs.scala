package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.{
  EventTimeMarks,
  InOrder,
  LateRowRule,
  OperatorInput,
  OriginsOfPlan,
  TrackedColumns
}
import org.apache.spark.sql.tidemark.columns.TrackedColumns.{present, times, Columns}

/** Puts an [[OperatorInput]] below each stateful operator that Spark alone could not give its watermark: joins, because
  * each side has its own, and operators into which several event-time columns flow.
  *
  * Runs at the end of the optimizer, in the session of one query. Where a plan has one event-time column and no
  * stream-stream join nothing is changed. Idempotent.
  */
private[tidemark] final class InsertOperatorInputs(origins: () => Option[OriginsOfPlan]) extends Rule[LogicalPlan] {
  import InsertOperatorInputs._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.isStreaming || !plan.exists(_.isInstanceOf[EventTimeWatermark])) plan
    else
      origins().fold(plan) { known =>
        val restored = RestoreUnionMarks.restore(RestoreOptions.restore(plan, known))
        new Marking(TrackedColumns.in(restored, known.computed, known.takesTimesOut)).visit(restored)._1
      }

  private final class Marking(tracked: TrackedColumns) {

    def visit(plan: LogicalPlan): (LogicalPlan, Columns) = {
      val (children, below) = plan.children.map(visit).unzip
      val node = plan.withNewChildren(children)
      if (children.exists(_.isInstanceOf[OperatorInput])) node -> tracked.out(node, below) else mark(node, below)
    }

    private def mark(node: LogicalPlan, all: Seq[Columns]): (LogicalPlan, Columns) = {
      val below = all.map(times)
      val marked = node match {
        case join: Join if join.left.isStreaming && join.right.isStreaming && below.exists(_.nonEmpty) =>
          val (left, right) = ActiveColumns.ofJoin(join, below.head, below(1))
          val inputs = Seq((join.left, all.head, left), (join.right, all(1), right)).map {
            case (side, columns, active) => input(side, columns, active, present(side, columns), LateRowRule.Join)
          }
          val marks = AttributeMap(inputs.flatMap(_.output).map(a => a -> a))
          val notNull = NullEventTimeCondition.condition(join, below, Seq(left, right))
          val condition = (join.condition ++ notNull).reduceOption(And)
          val named = condition.map(_.transform { case a: AttributeReference => marks.getOrElse(a, a) })
          join.copy(left = inputs.head, right = inputs(1), condition = named)
        case aggregate: Aggregate
            if aggregate.isStreaming &&
              (severalOrUnmarked(aggregate.child, below.head) || keepsInside(aggregate, all.head)) =>
          val active = ActiveColumns.ofAggregate(aggregate, below.head)
          val grouped = aggregate.groupingExpressions.collect {
            case named: NamedExpression if all.head.contains(named.toAttribute.exprId) => named.toAttribute
          }
          val kept = grouped ++ valuesOf(aggregate, all.head)
          val in = input(aggregate.child, all.head, active, kept, LateRowRule.Aggregation)
          val marks = AttributeMap(in.output.map(a => a -> a))
          val grouping =
            aggregate.groupingExpressions.map(_.transform { case a: AttributeReference => marks.getOrElse(a, a) })
          aggregate.copy(groupingExpressions = grouping, child = in)
        case dedup: Deduplicate if dedup.isStreaming && severalOrUnmarked(dedup.child, below.head) =>
          val in = deduplicated(dedup.child, below.head, dedup.keys)
          dedup.copy(keys = remark(dedup.keys, in), child = in)
        case dedup: DeduplicateWithinWatermark if severalOrUnmarked(dedup.child, below.head) =>
          val in = deduplicated(dedup.child, below.head, dedup.keys)
          dedup.copy(keys = remark(dedup.keys, in), child = in)
        case order: InOrder if order.waits =>
          val filter = if (order.dropsLate) LateRowRule.Order else LateRowRule.PassingOrder
          val active = Some(order.time.exprId).filter(below.head.contains)
          order.copy(child = input(order.child, all.head, active, present(order.child, all.head), filter))
        case groups if isGroupsWithState(groups) && severalOrUnmarked(groups.children.head, below.head) =>
          val (child, columns) = (groups.children.head, below.head)
          val in = input(child, columns, ActiveColumns.declaredLast(columns), Nil, LateRowRule.EventTimeFunction)
          groups.withNewChildren(in +: groups.children.tail)
        case other => other
      }
      marked -> tracked.out(marked, all)
    }

    /** A row is emitted in the batch in which it arrived, or never, so nothing is carried. */
    private def deduplicated(child: LogicalPlan, columns: Columns, keys: Seq[Attribute]): OperatorInput =
      input(child, columns, ActiveColumns.ofKeys(keys, columns), Nil, LateRowRule.Deduplication)

    private def input(
        child: LogicalPlan,
        columns: Columns,
        active: Option[ExprId],
        kept: Seq[Attribute],
        filter: LateRowRule): OperatorInput = {
      val marked = present(child, columns).find(a => active.contains(a.exprId)).map { a =>
        EventTimeMarks.mark(a, columns(a.exprId).delayMillis)
      }
      val carried = kept.filter(a => !active.contains(a.exprId) && EventTimeMarks.hasTime(a)).distinctBy(_.exprId)
      val filters = active.nonEmpty && filter.withInput == LateRowRule.Dropper.Input
      OperatorInput(marked, carried, filters, child)
    }

    /** Whether the grouping keys or the aggregated values hold times inside them. */
    private def keepsInside(aggregate: Aggregate, columns: Columns): Boolean =
      valuesOf(aggregate, columns).nonEmpty || aggregate.groupingExpressions.exists {
        case named: NamedExpression => columns.get(named.toAttribute.exprId).exists(_.isInside)
        case _ => false
      }

    /** Columns that leave an aggregation inside a value, as in `max(struct(t))`. A column that is itself aggregated
      * (`max(t)`) leaves it as a plain value.
      */
    private def valuesOf(aggregate: Aggregate, columns: Columns): Seq[Attribute] =
      if (!tracked.followsInside) Nil
      else
        aggregate.aggregateExpressions.filter(e => EventTimeMarks.isInside(e.dataType)).flatMap { value =>
          val functions = value.collect { case function: AggregateExpression => function }
          AttributeSet(functions.flatMap(_.references)).toSeq.filter(a => columns.contains(a.exprId))
        }
  }
}

private[tidemark] object InsertOperatorInputs {

  private def severalOrUnmarked(child: LogicalPlan, columns: Columns): Boolean = {
    val times = present(child, columns)
    times.size > 1 || times.exists(!EventTimeMarks.isMarked(_))
  }

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
