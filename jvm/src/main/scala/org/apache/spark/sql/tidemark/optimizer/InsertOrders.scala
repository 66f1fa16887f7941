package org.apache.spark.sql.tidemark.optimizer

import io.tidemark.{OrderErrors, TidemarkException}
import io.tidemark.TidemarkConf.OrderKept

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.{InOrder, OperatorInput, OriginsOfPlan, TrackedColumns}
import org.apache.spark.sql.tidemark.columns.TrackedColumns.times

/** With `spark.tidemark.order=event_time`, puts an [[InOrder]] below each function of groups and each deduplication, if their
  * rows have an event time and no order is below them already. Below limits it puts none: Spark has already moved some of
  * their work further down.
  *
  * Runs in the optimizer of one query, before [[InsertOperatorInputs]], so that an order gets its watermark as one does that
  * the user asked for. Idempotent.
  *
  * Spark leaves out inputs without rows from the plan of a batch, and an operator with state must be in all of them. So the
  * analyzed plan decides which operators get an order. A query is refused if Spark has made two of such an operator, or if
  * two columns of its input have one name.
  *
  * @param origins `None`: the query is left to Spark
  * @param check is told how many orders the user asked for, and how many the setting adds
  */
private[tidemark] final class InsertOrders(
    setting: OrderKept,
    analyzed: => LogicalPlan,
    origins: () => Option[OriginsOfPlan],
    check: (Int, Int) => Unit)
    extends Rule[LogicalPlan] {
  import InsertOrders._

  private var decided = Option.empty[Needed]

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.isStreaming || !plan.exists(_.isInstanceOf[EventTimeWatermark])) plan
    else
      origins().fold(plan) { known =>
        val needed = decided.getOrElse {
          val needed = needing(analyzed, known)
          check(asked(plan), needed.count(_.nonEmpty))
          needed
        }
        decided = Some(needed)
        if (setting != OrderKept.EventTime || needed.forall(_.isEmpty)) plan
        else {
          problem(needed, sensitive(plan).size).foreach { reason =>
            throw new TidemarkException(OrderErrors.OrderNotAdded(setting.name, reason))
          }
          val tracked = TrackedColumns.in(plan, known.computed, known.takesTimesOut)
          new Inserting(needed.iterator.map(_.nonEmpty), tracked).visit(plan)
        }
      }
}

private[tidemark] object InsertOrders {

  /** For each operator whose result depends on the order of its rows, the columns of its input that share their names; `None`
    * if it gets no order.
    */
  private type Needed = Seq[Option[Seq[Attribute]]]

  /** Why the setting cannot put the rows of a query into order.
    * @param found how many of the operators a batch has
    */
  private def problem(needed: Needed, found: Int): Option[String] = {
    // Spark gives columns other ids here than the analyzed plan has, so names are all that tells them apart.
    val repeated = needed.flatten.flatten.headOption.map { column =>
      s"the input of an operator has several columns named '${column.name}', which a restart could not tell apart"
    }
    val changed = Option.when(found != needed.size)(
      s"of ${needed.size} functions of groups and deduplications Spark has made $found, as where it moves a semi join below a " +
        "union")
    changed.orElse(repeated)
  }

  private def asked(plan: LogicalPlan): Int =
    plan.collect { case order: InOrder if order.waits && !order.isAdded => order }.size

  /** The operators whose result depends on the order of their rows, from the sources up. No optimizer removes one. */
  private def sensitive(plan: LogicalPlan): Seq[LogicalPlan] =
    plan.children.flatMap(sensitive) ++ Option.when(plan.isStreaming && keysOf(plan).nonEmpty)(plan)

  /** How many orders the setting `event_time` adds to a query. */
  def added(analyzed: LogicalPlan, origins: OriginsOfPlan): Int = needing(analyzed, origins).count(_.nonEmpty)

  /** A common table expression becomes one plan for each place that names it. */
  private def needing(analyzed: LogicalPlan, origins: OriginsOfPlan): Needed = {
    val inlined = InlineCTE(alwaysInline = true)(analyzed)
    val tracked = TrackedColumns.in(inlined, origins.computed, origins.takesTimesOut)
    sensitive(inlined).map { node =>
      val isNeeded = !isOrdered(node.children.head, tracked) && active(node, tracked).nonEmpty
      Option.when(isNeeded)(InOrder.repeated(node.children.head.output))
    }
  }

  private final class Inserting(needed: Iterator[Boolean], tracked: TrackedColumns) {

    def visit(plan: LogicalPlan): LogicalPlan = {
      val node = plan.mapChildren(visit)
      val keys = keysOf(node).filter(_ => node.isStreaming)
      val isNeeded = keys.nonEmpty && needed.next()
      if (!isNeeded || isAdded(node.children.head)) node
      else
        active(node, tracked).fold(node) { time =>
          val names = keys.get.map(key => InOrder.Name(key.withQualifier(Nil).sql, InOrder.typesOf(key)))
          val input = node.children.head
          val order =
            InOrder(
              time,
              time.name,
              keys.get,
              names,
              zone = None,
              repeated = Nil,
              thenBy = Nil,
              waits = true,
              dropsLate = true,
              isAdded = true,
              input)
          node.withNewChildren(order +: node.children.tail)
        }
    }
  }

  private def isAdded(plan: LogicalPlan): Boolean = plan match {
    case order: InOrder => order.isAdded
    case input: OperatorInput => isAdded(input.child)
    case _ => false
  }

  private def keysOf(node: LogicalPlan): Option[Seq[Attribute]] = node match {
    case groups: FlatMapGroupsWithState => Some(groups.groupingAttributes)
    case groups: FlatMapGroupsInPandasWithState => Some(groups.groupingAttributes)
    case groups: TransformWithState => Some(groups.groupingAttributes)
    case groups: TransformWithStateInPySpark => Some(groups.leftAttributes)
    case dedup: Deduplicate => Some(dedup.keys)
    case dedup: DeduplicateWithinWatermark => Some(dedup.keys)
    case _ => None
  }

  /** The column that the operator uses. Rows with the same keys have the same time if it is one of them. */
  private def active(node: LogicalPlan, tracked: TrackedColumns): Option[Attribute] = {
    val (input, keys) = (node.children.head, keysOf(node).getOrElse(Nil))
    val live = times(tracked.of(input)).filterNot(_._2.isStatic)
    val found = node match {
      case _: Deduplicate | _: DeduplicateWithinWatermark => ActiveColumns.ofKeys(keys, live)
      case _ => ActiveColumns.declaredLast(live)
    }
    found.filterNot(id => keys.exists(_.exprId == id)).flatMap(id => input.output.find(_.exprId == id))
  }

  /** Whether an order that is below is still one here, in part at least; also where nothing can be put into order. */
  private def isOrdered(plan: LogicalPlan, tracked: TrackedColumns): Boolean = plan match {
    case _: InOrder => true
    case aggregate: Aggregate => aggregate.isStreaming
    case _: Join | _: Union => false
    // It keeps the order that it gets.
    case first @ (_: Deduplicate | _: DeduplicateWithinWatermark) =>
      isOrdered(first.children.head, tracked) || active(first, tracked).nonEmpty
    case node if keysOf(node).nonEmpty => false
    case node: UnaryNode => isOrdered(node.child, tracked)
    case _ => false
  }
}
