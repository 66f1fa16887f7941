package org.apache.spark.sql.tidemark.columns

import scala.collection.immutable.ListMap
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._

/** Which columns of a logical plan are event time, on every edge from the sources upwards.
  *
  * A column is event time if a watermark of this plan declares it, or if it is computed from such a column
  * ([[EventTimeMarks]]). It is also event time if it has Spark's mark for another reason: the schema of a Python map
  * or of a table, or a field of a struct. Only the mark is known of those; see [[EventTimeColumn.marked]].
  *
  * @param computed columns that the user computed; such a column is not event time, even if it now equals one
  * @param definitions the common table expressions that the plan refers to
  * @param followsInside whether to follow a time into a value, because the plan takes it out again
  */
private[tidemark] final class TrackedColumns(
    computed: Set[ExprId],
    definitions: Seq[CTERelationDef],
    val followsInside: Boolean) {
  import TrackedColumns._

  private var declared = 0
  private val defined = mutable.HashMap.empty[Long, Seq[Option[EventTimeColumn]]]

  /** The event-time columns in the output of a plan. */
  def of(plan: LogicalPlan): Columns = out(plan, plan.children.map(of))

  /** The event-time columns in the output of a node.
    * @param below those of each child
    */
  def out(node: LogicalPlan, below: Seq[Columns]): Columns = {
    val inside = node.output.filter(a => EventTimeMarks.isInside(a.dataType)).map(_.exprId).toSet
    val known = passedOn(node, below)
      .filter { case (id, _) => followsInside || !inside(id) }
      .map { case (id, column) => id -> column.copy(isInside = inside(id)) }
    val more = node.output.filter(a => EventTimeMarks.isMarked(a) && !known.contains(a.exprId) && !computed(a.exprId))
    val isStatic = !node.isStreaming
    known ++ more.map { a =>
      a.exprId -> EventTimeColumn(EventTimeMarks.delayMillis(a), 0, marked = true, isStatic = isStatic)
    }
  }

  private def passedOn(node: LogicalPlan, below: Seq[Columns]): Columns = {
    val all: Columns = below.foldLeft(ListMap.empty: Columns)(_ ++ _)
    def renamed(pairs: Seq[(ExprId, ExprId)]): Columns = ListMap.from(pairs.map { case (to, from) => to -> all(from) })
    node match {
      case origin: EventTimeWatermark =>
        declared += 1
        val delay = EventTimeWatermark.getDelayMs(origin.delay)
        // Spark removes the mark from the other columns, so a column that had nothing but its mark is no longer event
        // time.
        all.filterNot(_._2.marked).updated(origin.eventTime.exprId, EventTimeColumn(delay, declared))
      case update: UpdateEventTimeWatermarkColumn =>
        declared += 1
        val delay = update.delay.fold(0L)(EventTimeWatermark.getDelayMs)
        ListMap(update.eventTime.exprId -> EventTimeColumn(delay, declared))
      case project: Project => renamed(EventTimeMarks.derive(project.projectList, all.contains, computed))
      case aggregate: Aggregate =>
        renamed(EventTimeMarks.derive(aggregate.aggregateExpressions, all.contains, computed))
      case expand: Expand => renamed(EventTimeMarks.deriveExpanded(expand.output, expand.projections, all.contains))
      case generate: Generate =>
        kept(node, all) ++
          renamed(EventTimeMarks.deriveGenerated(generate.generator, generate.generatorOutput, all.contains))
      case reference: CTERelationRef =>
        ListMap.from(reference.output.zip(definition(reference.cteId)).collect { case (a, Some(column)) =>
          a.exprId -> column
        })
      case _: Union => kept(node, below.head)
      case Join(_, _, LeftSemi, _, _) => below.head
      case _ => kept(node, all)
    }
  }

  private def kept(node: LogicalPlan, columns: Columns): Columns =
    ListMap.from(node.output.flatMap(a => columns.get(a.exprId).map(a.exprId -> _)))

  /** Each column of a common table expression, by position. */
  private def definition(id: Long): Seq[Option[EventTimeColumn]] = defined.getOrElseUpdate(
    id,
    definitions.find(_.id == id).toSeq.flatMap { definition =>
      val columns = of(definition.child)
      definition.output.map(a => columns.get(a.exprId))
    })
}

private[tidemark] object TrackedColumns {
  type Columns = ListMap[ExprId, EventTimeColumn]

  /** The columns that are event time themselves; a column with a time inside its values is left out. */
  def times(columns: Columns): Columns = columns.filterNot(_._2.isInside)

  /** @param whole the plan that defines the common table expressions */
  def in(whole: LogicalPlan, computed: Set[ExprId], followsInside: Boolean): TrackedColumns =
    new TrackedColumns(computed, whole.collect { case definition: CTERelationDef => definition }, followsInside)

  /** Whether the plan takes a time out of a value again, and a stateful operator then sees it. If not, the value needs
    * no tracking: `max(struct(t, v))` is how people ask for the latest `v`.
    */
  def takesTimesOut(plan: LogicalPlan, computed: Set[ExprId]): Boolean = {
    val tracked = in(plan, computed, followsInside = true)
    def visit(node: LogicalPlan, belowState: Boolean): (Columns, Boolean) = {
      // A reference to a common table expression may have a stateful operator above it.
      val isBelow = belowState || node.isInstanceOf[CTERelationDef] || keepsState(node)
      val (below, found) = node.children.map(visit(_, isBelow)).unzip
      val out = tracked.out(node, below)
      val inside = below.flatMap(_.filter(_._2.isInside).keys).toSet
      val takes = belowState && node.expressions.exists(_.references.exists(a => inside(a.exprId))) &&
        node.output.exists(a => out.get(a.exprId).exists(!_.isInside) && !below.exists(_.contains(a.exprId)))
      (out, takes || found.contains(true))
    }
    visit(plan, belowState = false)._2
  }

  private def keepsState(node: LogicalPlan): Boolean = node.isStreaming &&
    (node match {
      case _: Project | _: Filter | _: Generate | _: SubqueryAlias | _: View | _: Union => false
      case _: EventTimeWatermark | _: WithCTE | _: AsyncMap => false
      case order: InOrder => order.waits
      case _ => true
    })

  def present(plan: LogicalPlan, columns: Columns): Seq[Attribute] =
    plan.output.filter(a => columns.contains(a.exprId)).distinctBy(_.exprId)
}
