package org.apache.spark.sql.tidemark.planning

import io.tidemark.TidemarkConf.OrderKept
import io.tidemark.core.plan.{Order, OrderStep}

import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{CoalesceExec, ColumnarRule, ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.exec.OperatorInputExec
import org.apache.spark.sql.tidemark.exec.order.{InOrderExec, OrderNoteExec, ReadOrder}
import org.apache.spark.sql.tidemark.session.SessionConf

/** Gives operators whose result depends on the order of rows their rows by event time, if an order is below them and a
  * shuffle lies between. With `spark.tidemark.order=keep` they get other rows as source tasks have read them.
  *
  * What an order emits in a batch is later than all that it has emitted before, in whatever partition it is. So a shuffle
  * loses the order within a batch only, and a sort makes it again. [[PlanOrder]] knows where.
  */
object SortByEventTime extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = SortByEventTime.getClass.getName.stripSuffix("$")

    override def apply(plan: SparkPlan): SparkPlan = {
      val setting = SessionConf.orderOfAnyPlan(conf)
      val keepsArrival = setting == OrderKept.Keep
      val isAsked = setting != OrderKept.Spark || SessionConf.requireOrderOfAnyPlan(conf)
      // The rule may run again on its own result.
      if (plan.exists(_.isInstanceOf[OrderNoteExec])) plan
      else if (!isAsked && !plan.exists(_.isInstanceOf[InOrderExec])) plan
      else if (!plan.exists(_.isInstanceOf[StateStoreWriter])) plan
      else plan.transformUp { case operator @ OrderSensitive(keys) => ordered(operator, keys, keepsArrival) }
    }
  }

  private def ordered(operator: SparkPlan, keys: Seq[Attribute], keepsArrival: Boolean): SparkPlan = {
    val orders = new PlanOrder
    val input = operator.children.head
    val kept = if (keepsArrival) stable(withoutRoundRobin(input, orders), orders) else input
    val found = orders.at(keys, WidenInput(kept))
    // The first rows by time are the first of each group too.
    val groups = if (OrderSensitive.keysOfFirst(operator).nonEmpty) Nil else keys
    val sorted = if (found.sortBy.isEmpty) kept else sort(kept, groups)(orders.sortBy(found.sortBy, _))
    val above = operator.withNewChildren(sorted +: operator.children.tail)
    OperatorOrder.of(above, orders).fold(above) { order =>
      above.withNewChildren(OrderNoteExec(order.text, sorted) +: above.children.tail)
    }
  }

  /** Sorts by groups, as Spark has planned where the operator wants it, and then by time. The operator gets the columns that
    * it had.
    * @param order what to sort by, for the columns of a plan
    */
  private def sort(plan: SparkPlan, groups: Seq[Attribute])(order: SparkPlan => Seq[SortOrder]): SparkPlan =
    plan match {
      case input: OperatorInputExec => input.withNewChildren(Seq(sort(input.child, groups)(order)))
      case other =>
        val sorted = WidenInput(other) match {
          case sort: SortExec if groups.nonEmpty => sort.copy(sortOrder = sort.sortOrder ++ order(sort))
          case wide => SortExec(groups.map(SortOrder(_, Ascending)) ++ order(wide), global = false, wide)
        }
        if (sorted.outputSet.subsetOf(other.outputSet)) sorted else ProjectExec(other.output, sorted)
    }

  /** Where nothing but Spark's sort loses the order in which rows were read, a sort that does not. */
  private def stable(plan: SparkPlan, orders: PlanOrder): SparkPlan = plan match {
    case sort: SortExec if isArrival(sort.child, orders) => ReadOrder.stable(sort)
    case input: OperatorInputExec => input.withNewChildren(Seq(stable(input.child, orders)))
    case other => other
  }

  /** Round robin sorts rows by their hashes and spreads them. Reading several source tasks as one does neither, and there are
    * no more tasks than the source has.
    */
  private def withoutRoundRobin(plan: SparkPlan, orders: PlanOrder): SparkPlan = orders.step(plan) match {
    case _: OrderStep.Breaks | _: OrderStep.InOrder | _: OrderStep.Source => plan
    case _ =>
      plan.mapChildren(withoutRoundRobin(_, orders)) match {
        case shuffle: ShuffleExchangeExec if isArrival(shuffle.child, orders) =>
          shuffle.outputPartitioning match {
            case RoundRobinPartitioning(partitions) => CoalesceExec(partitions, shuffle.child)
            case _ => shuffle
          }
        case other => other
      }
  }

  private def isArrival(plan: SparkPlan, orders: PlanOrder): Boolean = orders.of(plan).isInstanceOf[Order.Arrival]
}
