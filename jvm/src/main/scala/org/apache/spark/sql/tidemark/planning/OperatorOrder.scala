package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.OperatorId
import io.tidemark.core.plan.Order

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter

/** In what order an operator reads its rows.
  *
  * @param isOfGroups whether it is about each group of rows; if not, all rows are one
  */
private[tidemark] final case class OperatorOrder(operator: String, order: Order, isOfGroups: Boolean) {

  /** Where an order was lost, if any was. */
  def lost: Option[Order.Lost] = order match {
    case lost: Order.Lost => Some(lost)
    case time: Order.Time => time.flaw
    case _: Order.Arrival => None
  }

  def text: String = order match {
    case Order.Lost(at, why) => s"none, lost at $at: $why"
    case _: Order.Arrival => s"$rows as each task has read them from the source"
    case time: Order.Time =>
      val each = if (time.isOverBatches || time.flaw.nonEmpty) "" else ", within each batch"
      val flaw = time.flaw.fold("")(lost => s", lost in part at ${lost.at}: ${lost.why}")
      s"$rows by ${time.names.distinct.mkString(", then ")}$each$flaw"
  }

  private def rows = if (isOfGroups) "each group" else "all rows"
}

private[tidemark] object OperatorOrder {

  /** The orders of all operators of a plan whose result depends on them. */
  def in(plan: SparkPlan): Map[OperatorId, OperatorOrder] = {
    val orders = new PlanOrder
    plan.collect {
      case writer: StateStoreWriter if writer.stateInfo.isDefined => of(writer, orders).map(writer.stateInfo.get -> _)
    }.flatten.map { case (info, order) => OperatorId(info.operatorId) -> order }.toMap
  }

  /** `None` if the result of the operator does not depend on the order. */
  private[planning] def of(plan: SparkPlan, orders: PlanOrder): Option[OperatorOrder] =
    OrderSensitive.unapply(plan).map { keys =>
      val name = plan match {
        case writer: StateStoreWriter => StatefulShapes.label(writer)
        case other => other.nodeName
      }
      OperatorOrder(name, orders.at(keys, plan.children.head).order, isOfGroups = keys.nonEmpty)
    }
}
