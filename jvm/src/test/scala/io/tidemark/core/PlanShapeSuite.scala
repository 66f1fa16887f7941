package io.tidemark.core

import io.tidemark.core.plan.PlanShape
import io.tidemark.core.plan.PlanShape._

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** By which key an operator judges its rows: what the plan says, whatever the watermarks are. */
class PlanShapeSuite extends AnyFunSuite {
  private val orders = origin("orders", 1)
  private val payments = origin("payments", 2)

  private val join = {
    def side(input: PlanShape, active: Long, other: Side, column: Long) = JoinSide(
      input,
      Some(col(active)),
      Some(Bound(other, col(column), 0)),
      ActiveOut.Bounded,
      carried = Nil,
      comesOut = true)
    Join("join", OperatorId(0), side(orders, 1, Side.Right, 2), side(payments, 2, Side.Left, 1))
  }

  private def judged(input: PlanShape, active: Long): Option[String] =
    PlanShape.judgedBy(aggregation(9, input, active), Side.Left).map(_.toString)

  test("by the key of its column, under whatever name") {
    assert(judged(orders, 1).contains("orders"))
    assert(judged(project(project(orders, 5L -> 1L), 6L -> 5L), 6).contains("orders"))
    assert(judged(aggregation(0, payments, 2), 2).contains("payments"))
  }

  test("each side of a join by its own, and what is above it by that of its column") {
    assert(Seq[Side](Side.Left, Side.Right).flatMap(PlanShape.judgedBy(join, _)) ==
      Seq(named("orders"), named("payments")))
    assert(judged(join, 1).contains("orders"))
    assert(judged(join, 2).contains("payments"))
  }

  test("by that of the first input of a union, whose column it is") {
    assert(judged(union(orders -> Some(1), payments -> Some(2)), 1).contains("orders"))
    assert(judged(union(payments -> Some(2), orders -> Some(1)), 2).contains("payments"))
  }

  test("by the last watermark that was put on the column") {
    assert(judged(origin("again", 1, orders), 1).contains("again"))
    assert(judged(origin("payments", 2, orders), 1).contains("orders"))
  }

  test("by that of the operator's own column where an operator begins a new one") {
    val groups = Stateful("transformWithState", OperatorId(0), join, Some(col(2)), Nil, Nil)
    assert(judged(Declared("event time of state", col(7), groups), 7).contains("payments"))
  }

  test("by the only one there is, where nobody knows what a column comes from, else by none") {
    assert(judged(Stateless("map", Seq(orders), Nil), 7).contains("orders"))
    assert(judged(Stateless("map", Seq(join), Nil), 7).isEmpty)
    val limit = Stateful("limit", OperatorId(0), orders, None, Seq(col(1)), Nil)
    assert(PlanShape.judgedBy(limit, Side.Left).isEmpty)
  }
}
