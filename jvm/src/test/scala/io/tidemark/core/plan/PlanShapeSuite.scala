package io.tidemark.core.plan

import io.tidemark.core.{OperatorId, Side}
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.Plans

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
    PlanShape.judgedByAll(aggregation(9, input, active), Side.Left).headOption.map(_.toString)

  test("an operator judges rows by the watermark of its column, whatever the column's name") {
    assert(judged(orders, 1).contains("orders"))
    assert(judged(project(project(orders, 5L -> 1L), 6L -> 5L), 6).contains("orders"))
    assert(judged(aggregation(0, payments, 2), 2).contains("payments"))
  }

  test("each join side judges rows by its own watermark, and an operator after the join by that of its column") {
    assert(Seq[Side](Side.Left, Side.Right).flatMap(PlanShape.judgedByAll(join, _).headOption) ==
      Seq(named("orders"), named("payments")))
    assert(judged(join, 1).contains("orders"))
    assert(judged(join, 2).contains("payments"))
  }

  test("an operator after a union judges rows by the watermark of the union's first input") {
    assert(judged(union(orders -> Some(1), payments -> Some(2)), 1).contains("orders"))
    assert(judged(union(payments -> Some(2), orders -> Some(1)), 2).contains("payments"))
  }

  test("an operator judges rows by the last watermark that was set on its column") {
    assert(judged(origin("again", 1, orders), 1).contains("again"))
    assert(judged(origin("payments", 2, orders), 1).contains("orders"))
  }

  test("a new event-time column of an operator is judged by the watermark of that operator's own column") {
    val groups = Stateful("transformWithState", OperatorId(0), join, Some(col(2)), Nil, Nil)
    assert(judged(Declared("event time of state", col(7), groups), 7).contains("payments"))
  }

  test("a column of unknown origin is judged by the query's only watermark, or by none if there are several") {
    assert(judged(Stateless("map", Seq(orders), Nil), 7).contains("orders"))
    assert(judged(Stateless("map", Seq(join), Nil), 7).isEmpty)
    val limit = Stateful("limit", OperatorId(0), orders, None, Seq(col(1)), Nil)
    assert(PlanShape.judgedByAll(limit, Side.Left).isEmpty)
  }
}
