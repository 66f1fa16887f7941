package io.tidemark.core.plan

import io.tidemark.core.{OperatorId, Side}
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.{Plans, RandomHistory, RandomPlan, RowModel}

import Plans._
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** No overtaking in the chains that matter most; [[PropagationProperties]] has it for plans of any form. */
class NoOvertakingSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 150)

  private val orders = origin("orders", 1)
  private val payments = origin("payments", 2)
  private val bounded = ActiveOut.Bounded

  private def joined(left: PlanShape, right: PlanShape, carried: Long*) = Join(
    "join",
    OperatorId(10),
    JoinSide(left, Some(col(1)), Some(Bound(Side.Right, col(2), -26)), bounded, carried.map(col), comesOut = true),
    JoinSide(right, Some(col(2)), Some(Bound(Side.Left, col(1), -11)), bounded, Nil, comesOut = true))

  private def neverOvertaken(shape: PlanShape): Unit =
    forAll(Gen.long, Gen.oneOf(1L, 4L, 10L)) { (seed, width) =>
      val run = RowModel.run(shape, RandomHistory(names(shape), seed), width)
      assert(run.overtaken.isEmpty)
    }

  test("no watermark overtakes a row in an aggregation by either side's column of a join") {
    neverOvertaken(aggregation(20, joined(orders, payments), active = 1))
    neverOvertaken(aggregation(20, joined(orders, payments), active = 2))
  }

  test("no watermark overtakes a row in an aggregation by a column that an earlier aggregation carries") {
    val both = joined(orders, payments)
    neverOvertaken(aggregation(30, aggregation(20, both, 1, carried = 2), active = 2))
    neverOvertaken(aggregation(30, aggregation(20, both, 2, carried = 1), active = 1))
  }

  test("no watermark overtakes a row in an aggregation by a column that is carried twice") {
    val first = aggregation(20, joined(orders, payments), 1, carried = 2)
    val window = Stateless(RandomPlan.Window, Seq(first), Seq(col(1) -> col(1), col(2) -> col(2), col(5) -> col(1)))
    neverOvertaken(aggregation(40, aggregation(30, window, 5, 2, 1), active = 2))
  }

  test("no watermark overtakes a row in an aggregation by a column that a join carries beside its own") {
    val declared = origin("shipped", 3, project(orders, 1L -> 1L, 3L -> 1L))
    neverOvertaken(aggregation(20, joined(declared, payments, carried = 3), active = 3))
  }

  test("no watermark overtakes a row when three streams are joined one after the other") {
    val second = Join(
      "join",
      OperatorId(20),
      JoinSide(
        joined(orders, payments),
        Some(col(2)),
        Some(Bound(Side.Right, col(4), -6)),
        bounded,
        Seq(col(1)),
        comesOut = true),
      JoinSide(origin("bills", 4), Some(col(4)), Some(Bound(Side.Left, col(2), -31)), bounded, Nil, comesOut = true))
    for (by <- Seq(1L, 2L, 4L)) neverOvertaken(aggregation(30, second, active = by))
  }

  test("no watermark overtakes a row when a watermark is set again after an aggregation") {
    val again = origin("again", 1, aggregation(20, orders, active = 1))
    neverOvertaken(aggregation(30, again, active = 1))
  }

  // The opposite case shows that the model detects overtaking: rows leave a side without a bound at any age.
  test("a join side that never evicts state emits rows that a watermark has overtaken, unless it is held back") {
    def shape(out: ActiveOut) = {
      val both = joined(orders, payments)
      both.copy(left = both.left.copy(bound = None, activeOut = out))
    }
    def overtaken(shape: PlanShape) = (1L to 200L).exists { seed =>
      val promised = shape match {
        // The plan is run as if it had the bound: the model then holds the plan to that bound.
        case join: Join if join.left.activeOut == ActiveOut.Unbounded =>
          join.copy(left = join.left.copy(activeOut = bounded))
        case other => other
      }
      RowModel.run(promised, RandomHistory(names(shape), seed), 1).overtaken.nonEmpty
    }
    assert(overtaken(shape(ActiveOut.Unbounded)))
    assert(!overtaken(shape(ActiveOut.Withheld)))
  }
}
