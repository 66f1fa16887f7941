package org.apache.spark.sql.tidemark.functions

import io.tidemark.{OrderErrors, TidemarkException}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, InOrder, OrderRequest}

/** Replaces a filter by `tidemark_in_order` by an [[InOrder]], and in a batch query by a sort. */
object ResolveInOrder extends Rule[LogicalPlan] with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    // Spark's own checks come before those of an extension, and say less.
    case node @ (_: Aggregate | _: Sort | _: Join) if node.resolved && node.expressions.exists(isOrder) =>
      throw new TidemarkException(OrderErrors.MisplacedOrder(node.nodeName))
    case filter: Filter if filter.resolved && filter.condition.exists(_.isInstanceOf[InOrderExpression]) =>
      val (orders, others) = splitConjunctivePredicates(filter.condition).partitionMap {
        case order: InOrderExpression => scala.util.Left(order)
        // HAVING
        case Cast(order: InOrderExpression, _, _, _) => scala.util.Left(order)
        case other => scala.util.Right(other)
      }
      // What is left of it is in a larger condition, and is refused by CheckEventTimePlacement.
      if (orders.isEmpty) filter
      else {
        val below = others.reduceOption(And).fold(filter.child)(Filter(_, filter.child))
        orders.foldLeft(below)((child, order) => ordered(order, child))
      }
  }

  private def isOrder(expression: Expression): Boolean = expression.exists(_.isInstanceOf[InOrderExpression])

  private def ordered(order: InOrderExpression, child: LogicalPlan): LogicalPlan = {
    (order.time +: (order.by ++ order.thenBy)).foreach(requireValue)
    if (child.isStreaming && order.request.waits) order.thenBy.foreach(requireNoPython(_, child))
    val hidden = HiddenColumns.of(order.time +: order.by, "order", child)
    val (time, by) = (hidden.columns.head, hidden.columns.tail)
    val node =
      if (child.isStreaming) streaming(order, time, by, hidden.below)
      else sorted(time, by, order.thenBy, hidden.below)
    if (hidden.isLonger) Project(child.output, node) else node
  }

  private def streaming(order: InOrderExpression, time: Attribute, by: Seq[Attribute], child: LogicalPlan) = {
    val request = order.request
    val timeName = order.time match {
      case column: Attribute => column.name
      case computed => inWords(computed, child)
    }
    if (request.waits && !EventTimeMarks.isMarked(time))
      throw new TidemarkException(
        OrderErrors.OrderNotEventTime(timeName, child.output.filter(EventTimeMarks.isMarked).map(_.name)))
    val names = order.by.map(key => InOrder.Name(inWords(key, child), InOrder.typesOf(key)))
    val zone = order.by.flatMap(zoneOf).headOption
    val repeated = InOrder.repeated(child.output)
    InOrder(
      time,
      timeName,
      by,
      names,
      zone,
      repeated,
      order.thenBy,
      request.waits,
      request.dropsLate,
      isAdded = false,
      child)
  }

  /** The session's time zone, if the value of an expression depends on it. */
  private def zoneOf(expression: Expression): Option[String] = expression match {
    case cast: Cast if !cast.needsTimeZone => zoneOf(cast.child)
    case aware: TimeZoneAwareExpression if aware.timeZoneId.nonEmpty => aware.timeZoneId
    case _: CurrentTimeZone => Some(conf.sessionLocalTimeZone)
    case computed: RuntimeReplaceable => zoneOf(computed.replacement)
    case other => other.children.flatMap(zoneOf).headOption
  }

  /** An expression by the names that the columns have: neither an alias of the table nor the user's spelling counts. */
  private def inWords(expression: Expression, child: LogicalPlan): String = {
    val output = child.output.zip(InOrder.names(child.output, InOrder.repeated(child.output)))
    val names = AttributeMap(output.map { case (column, name) => column -> column.withQualifier(Nil).withName(name) })
    expression.transform { case column: Attribute => names.getOrElse(column, column.withQualifier(Nil)) }.sql
  }

  /** A batch has all rows, so nothing waits. */
  private def sorted(time: Attribute, by: Seq[Attribute], thenBy: Seq[Expression], child: LogicalPlan): LogicalPlan = {
    val order = (by ++ (time +: thenBy)).map(SortOrder(_, Ascending))
    if (by.isEmpty) Sort(order, global = true, child)
    else Sort(order, global = false, RepartitionByExpression(by, child, None))
  }

  private def requireValue(expression: Expression): Unit = {
    if (expression.exists(_.isInstanceOf[OuterReference]))
      throw OrderRequest.invalid(s"orders by '${expression.sql}', a column of the query outside of this subquery")
    if (expression.exists(_.isInstanceOf[PlanExpression[_]]))
      throw OrderRequest.invalid(
        s"orders by '${expression.sql}', which has a subquery: add its result as a column first")
    if (expression.isInstanceOf[SortOrder])
      throw OrderRequest.invalid(
        s"orders by '${expression.sql}', but it always orders by rising values: give the column, or its negative, such as -n")
    if (!RowOrdering.isOrderable(expression.dataType))
      throw OrderRequest.invalid(
        s"orders by '${expression.sql}', but values of type ${expression.dataType.simpleString} have no order")
    if (!expression.deterministic)
      throw OrderRequest.invalid(s"orders by '${expression.sql}', whose value changes when it is computed again")
  }

  /** Spark computes such a function below the order, so that its result would be held with the row. */
  private def requireNoPython(
      tie: Expression,
      child: LogicalPlan): Unit = if (tie.exists(_.isInstanceOf[PythonFuncExpression]))
    throw OrderRequest.invalid(
      s"breaks ties by '${inWords(tie, child)}', a function of Python, which cannot be called when a row is emitted: add its result as a " +
        "column below, and break ties by that")
}
