package org.apache.spark.sql.tidemark.columns

import scala.collection.immutable.ListMap
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.LeftSemi
import org.apache.spark.sql.catalyst.plans.logical._

/** Which columns of a logical plan are event time, on every edge from the sources upwards.
  *
  * A column is event time when a watermark of this plan declares it, when it is computed from such a column
  * ([[EventTimeColumns]]), and when it bears Spark's mark by any other way: the schema of a Python map or of a table, or a
  * field of a struct. Of the last kind nothing but the mark is known; see [[EventTimeColumn.marked]].
  *
  * @param computed columns that the user has computed: one that has become another name for a time is none
  * @param definitions of the common table expressions that the plan refers to
  * @param followsInside whether a time is followed into values, as it is taken out of them again
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

  /** Those in the output of a node.
    * @param below those of its children, for each child
    */
  def out(node: LogicalPlan, below: Seq[Columns]): Columns = {
    val inside = node.output.filter(a => EventTimeColumns.isInside(a.dataType)).map(_.exprId).toSet
    val known = flow(node, below)
      .filter { case (id, _) => followsInside || !inside(id) }
      .map { case (id, column) => id -> column.copy(isInside = inside(id)) }
    val more = node.output.filter(a => EventTimeColumns.isMarked(a) && !known.contains(a.exprId) && !computed(a.exprId))
    known ++ more.map(a => a.exprId -> EventTimeColumn(EventTimeColumns.delayMillis(a), 0, marked = true))
  }

  private def flow(node: LogicalPlan, below: Seq[Columns]): Columns = {
    val all: Columns = below.foldLeft(ListMap.empty: Columns)(_ ++ _)
    def renamed(pairs: Seq[(ExprId, ExprId)]): Columns = ListMap.from(pairs.map { case (to, from) => to -> all(from) })
    node match {
      case origin: EventTimeWatermark =>
        declared += 1
        val delay = EventTimeWatermark.getDelayMs(origin.delay)
        // Spark takes the mark off the other columns; one of which only the mark was known is event time no more.
        all.filterNot(_._2.marked).updated(origin.eventTime.exprId, EventTimeColumn(delay, declared))
      case update: UpdateEventTimeWatermarkColumn =>
        declared += 1
        val delay = update.delay.fold(0L)(EventTimeWatermark.getDelayMs)
        ListMap(update.eventTime.exprId -> EventTimeColumn(delay, declared))
      case project: Project => renamed(EventTimeColumns.derive(project.projectList, all.contains, computed))
      case aggregate: Aggregate =>
        renamed(EventTimeColumns.derive(aggregate.aggregateExpressions, all.contains, computed))
      case expand: Expand => renamed(EventTimeColumns.deriveExpanded(expand.output, expand.projections, all.contains))
      case generate: Generate =>
        kept(node, all) ++
          renamed(EventTimeColumns.deriveGenerated(generate.generator, generate.generatorOutput, all.contains))
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

  /** What each column of a common table expression is, by position. */
  private def definition(id: Long): Seq[Option[EventTimeColumn]] = defined.getOrElseUpdate(
    id,
    definitions.find(_.id == id).toSeq.flatMap { definition =>
      val columns = of(definition.child)
      definition.output.map(a => columns.get(a.exprId))
    })
}

private[tidemark] object TrackedColumns {
  type Columns = ListMap[ExprId, EventTimeColumn]

  /** Those that are event time themselves, and not only have such inside their values. */
  def times(columns: Columns): Columns = columns.filterNot(_._2.isInside)

  /** @param whole the plan that has the definitions of what it refers to */
  def in(whole: LogicalPlan, computed: Set[ExprId], followsInside: Boolean): TrackedColumns =
    new TrackedColumns(computed, whole.collect { case definition: CTERelationDef => definition }, followsInside)

  /** Whether a time that has gone into a value is taken out of it again, and then comes to an operator that keeps state.
    * Else it is kept as any other value: `max(struct(t, v))` is how people ask for the latest one.
    */
  def takesTimesOut(plan: LogicalPlan, computed: Set[ExprId]): Boolean = {
    val tracked = in(plan, computed, followsInside = true)
    def visit(node: LogicalPlan, belowState: Boolean): (Columns, Boolean) = {
      // What refers to a common table expression may keep state.
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
      case _: EventTimeWatermark | _: WithCTE => false
      case _ => true
    })

  def present(plan: LogicalPlan, columns: Columns): Seq[Attribute] =
    plan.output.filter(a => columns.contains(a.exprId)).distinctBy(_.exprId)
}
