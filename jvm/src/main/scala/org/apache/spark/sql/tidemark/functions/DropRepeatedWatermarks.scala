package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.EVENT_TIME_WATERMARK
import org.apache.spark.sql.tidemark.columns.{EventTimeOptions, SplitMarker}

/** Takes a watermark once that is set twice on one column, with the same key, delay and options.
  *
  * Only nodes that pass every row and the column may be between the two, so that both have the same clocks. Otherwise the
  * query has two watermarks of one key, and is refused when it starts.
  */
object DropRepeatedWatermarks extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(EVENT_TIME_WATERMARK)) plan
    else
      plan.resolveOperatorsUp {
        case repeated: EventTimeWatermark if repeated.resolved && EventTimeOptions.of(repeated).key.nonEmpty =>
          if (first(repeated.eventTime, repeated.child).exists(isSame(repeated, _))) without(repeated) else repeated
      }

  /** The watermark below, on the same column. */
  private def first(column: Attribute, in: LogicalPlan): Option[EventTimeWatermark] = in match {
    case node: EventTimeWatermark if node.eventTime.exprId == column.exprId => Some(node)
    case project: Project if project.projectList.exists(is(column, _)) => first(column, project.child)
    case _: EventTimeWatermark | _: SplitMarker | _: SubqueryAlias => first(column, in.children.head)
    case _ => None
  }

  private def is(column: Attribute, element: Expression): Boolean = element match {
    case same: Attribute => same.exprId == column.exprId
    case _ => false
  }

  private def isSame(repeated: EventTimeWatermark, first: EventTimeWatermark): Boolean = {
    val (options, others) = (EventTimeOptions.of(repeated), EventTimeOptions.of(first))
    def keys(of: EventTimeOptions, in: LogicalPlan) =
      of.split.flatMap(id => in.collectFirst { case split: SplitMarker if split.id == id => meaning(split) }).getOrElse(
        Nil)
    val (splits, otherSplits) = (keys(options, repeated.child), keys(others, first.child))
    repeated.delay == first.delay && options.copy(split = None) == others.copy(split = None) &&
    splits.size == otherSplits.size && splits.zip(otherSplits).forall { case (split, otherSplit) =>
      split.semanticEquals(otherSplit)
    }
  }

  /** The expressions that the user has split by, instead of the hidden columns that have their values. */
  private def meaning(split: SplitMarker): Seq[Expression] = {
    val computed = split.child match {
      case hidden: Project =>
        AttributeMap(hidden.projectList.collect { case alias: Alias => alias.toAttribute -> alias.child })
      case _ => AttributeMap.empty[Expression]
    }
    split.keys.map(key => computed.getOrElse(key, key))
  }

  /** The plan below, with the column as the first watermark has left it. */
  private def without(repeated: EventTimeWatermark): LogicalPlan = {
    val marked = repeated.output.find(_.exprId == repeated.eventTime.exprId).get
    val column = marked.withMetadata(EventTimeOptions.removed(marked.metadata))
    Project(
      repeated.child.output.map(a => if (a.exprId == column.exprId) column else a),
      unsplit(repeated.child, EventTimeOptions.of(repeated)))
  }

  private def unsplit(plan: LogicalPlan, options: EventTimeOptions): LogicalPlan = plan match {
    case split: SplitMarker if options.split.contains(split.id) => split.child
    case node @ (_: Project | _: SubqueryAlias) => node.withNewChildren(Seq(unsplit(node.children.head, options)))
    case other => other
  }
}
