package io.tidemark.core.plan

import io.tidemark.core.{OperatorId, Side, Watermark}
import io.tidemark.core.Watermark.Unknown
import io.tidemark.core.memory.{Observation, OriginRules, WatermarkEntry}
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.{JoinPlans, Moment, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** Joins with an idle side: whether the other side waits for it, and what the operators above the join see. */
class IdleJoinPropagationSuite extends AnyFunSuite with JoinPlans {
  import ActiveOut.Bounded

  private val idlePayments = decided("orders" -> at(100), "payments" -> Watermark.Idle(Some(40)))
  private val following = join.copy(right = paymentsSide.copy(follows = true))

  test("a join waits for an idle side") {
    assert(out(join, idlePayments) == Map(1L -> at(15), 2L -> at(40)))
  }

  test("an idle side that follows has the other side's watermark and evicts the other side's state by it") {
    val inputs = Propagation.levels(following, idlePayments).inputs
    assert(inputs(right(0)).input == AttributedWatermark(at(100), Some(named("orders"))))
    assert(inputs(left(0)).evicted.map(_.watermark).contains(at(75)))
    assert(out(following, idlePayments) == Map(1L -> at(75), 2L -> at(90)))
  }

  test("an idle side that follows does not go back if it is ahead, and follows even if it never had a row") {
    def own(payments: Watermark) =
      Propagation.levels(
        following,
        decided("orders" -> at(100), "payments" -> payments)).inputs(right(0)).input.watermark
    assert(own(Watermark.Idle(Some(400))) == at(400))
    assert(own(Watermark.Idle(None)) == at(100))
    assert(own(Unknown) == Unknown)
  }

  test("a side that has followed does not go back when it returns with older rows, also after a restart") {
    val rules = Map(
      named("orders") -> OriginRules(0),
      named("payments") -> OriginRules(0, idleAfterMillis = Some(1500), followsInJoins = true))
    def saw(times: (String, Long)*) =
      Observation(
        times.map { case (key, time) => named(key) -> Observation.OriginObservation.whole(time, 0) }.toMap,
        Map.empty)
    // Batches run every second, and payments are idle from the third on.
    val start = Moment(following, WatermarkEntry.initial(names(following), -1L, 0L, 0L), rules)
    val silent = start.next(saw("orders" -> 50, "payments" -> 40)).next(saw("orders" -> 60)).next(saw("orders" -> 100))
    assert(silent.now.inputs(right(0)).input.watermark == at(100))
    val returned = silent.next(saw("payments" -> 45)).restarted
    assert(returned.now.inputs(right(0)).input.watermark == at(100))
    returned.now.requireNotBefore(returned.late)
    assert(returned.next(saw("payments" -> 110)).now.inputs(right(0)).input.watermark == at(110))
  }

  test("a join is idle when both sides are idle") {
    val idle = decided("orders" -> Watermark.Idle(Some(100)), "payments" -> Watermark.Idle(Some(40)))
    for (shape <- Seq(join, following))
      assert(out(shape, idle) == Map(1L -> Watermark.Idle(Some(15)), 2L -> Watermark.Idle(Some(40))))
  }

  test("a join keeps its watermarks when one side or both sides become idle") {
    val idle = decided("orders" -> at(100), "payments" -> Watermark.Idle(Some(40)))
    assert(out(join, idle) == out(join, decision))
    val both = decided("orders" -> Watermark.Idle(Some(100)), "payments" -> Watermark.Idle(Some(40)))
    assert(out(join, both).values.forall(_.isIdle))
    assert(out(join, both).view.mapValues(_.millis).toMap == out(join, decision).view.mapValues(_.millis).toMap)
  }

  test("a join with both sides idle is left out of a union and waited for by a join, like an idle input") {
    val idle = decided(
      "orders" -> Watermark.Idle(Some(100)),
      "payments" -> Watermark.Idle(Some(40)),
      "bills" -> at(300))
    val bills = origin("bills", 3)
    assert(out(union(join -> Some(1), bills -> Some(3)), idle) == Map(1L -> at(300)))
    val waiting = decision.copy(origins = decision.origins + (named("bills") -> at(300)))
    assert(out(union(join -> Some(1), bills -> Some(3)), waiting) == Map(1L -> at(15)))

    def onBills(follows: Boolean) = Join(
      "join of joins",
      OperatorId(1),
      side(join, 1, Some(Bound(Side.Right, col(3), 0)), Bounded).copy(follows = follows),
      side(bills, 3, Some(Bound(Side.Left, col(1), 0)), Bounded))
    val reached = out(join, idle)(1L).millis.get
    assert(out(onBills(follows = false), idle) == Map(1L -> at(reached), 3L -> at(reached)))
    assert(out(onBills(follows = true), idle) == Map(1L -> at(300), 3L -> at(300)))
  }
}
