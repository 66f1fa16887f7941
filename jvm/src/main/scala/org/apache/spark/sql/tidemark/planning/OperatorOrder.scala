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
    case arrival: Order.Arrival => arrival.flaw
  }

  /** Why each group's rows are in no known order over all batches; `None` if they are in one. */
  def unknown: Option[Order.Lost] = lost.orElse(order match {
    case time: Order.Time if !time.isOverBatches =>
      Some(Order.Lost("in order", "it sorts each batch by itself, so a later batch may have earlier rows"))
    case _ => None
  })

  def text: String = order match {
    case Order.Lost(at, why) => s"none, lost at $at: $why"
    case Order.Arrival(_, _, _, None) => s"$rows in the order of the source"
    case Order.Arrival(_, _, _, Some(lost)) =>
      s"$rows as each task has read them from the source, lost in part at ${lost.at}: ${lost.why}"
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
