package io.tidemark.core.support

import io.tidemark.core.{OperatorId, Side}
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.plan.PlanShape._

import Plans._

/** A join of orders and payments, in a batch in which no input is idle. */
private[core] trait JoinPlans {
  import ActiveOut.Bounded

  protected val decision = decided("orders" -> at(100), "payments" -> at(40), "bills" -> at(30))

  protected def side(input: PlanShape, column: Long, bound: Option[Bound], out: ActiveOut, carried: Long*) =
    JoinSide(input, Some(col(column)), bound, out, carried.map(col), comesOut = true)

  /** orders (column 1) with payments (column 2): `order - 10 < payment < order + 25`. */
  protected val ordersSide = side(origin("orders", 1), 1, Some(Bound(Side.Right, col(2), -25)), Bounded)
  protected val paymentsSide = side(origin("payments", 2), 2, Some(Bound(Side.Left, col(1), -10)), Bounded)
  protected val join = Join("join", OperatorId(0), ordersSide, paymentsSide)
}
