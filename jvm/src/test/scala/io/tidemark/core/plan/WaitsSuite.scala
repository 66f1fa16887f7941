package io.tidemark.core.plan

import io.tidemark.core.{OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.memory.Observation
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.{Moment, Plans, RandomPlan}

import Plans._
import org.scalacheck.{Gen, Shrink}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Who waits for whom, by asking the rules what would happen. */
class WaitsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 300)
  implicit private val noShrinking: Shrink[Long] = Shrink.shrinkAny

  private val (orders, payments) = (origin("orders", 1), origin("payments", 2))

  private def side(input: PlanShape, column: Long, bound: Option[Bound], follows: Boolean = false) = JoinSide(
    input,
    Some(col(column)),
    bound,
    if (bound.isEmpty) ActiveOut.Unbounded else ActiveOut.Bounded,
    Nil,
    comesOut = true,
    follows)

  private def joined(follows: Boolean = false, boundOfRight: Option[Bound] = Some(Bound(Side.Left, col(1), 0L))) =
    Join(
      "join",
      OperatorId(5),
      side(orders, 1, Some(Bound(Side.Right, col(2), -minutes(15)))),
      side(payments, 2, boundOfRight, follows))

  test("each side of a join drops by its own input, and its state waits for the other one") {
    val waits = Waits.of(joined())
    assert(waits(left(5)).late === Seq(named("orders")))
    assert(waits(left(5)).evicted === Some(Seq(named("payments"))))
    assert(waits(left(5)).afterMillis === Some(minutes(15)))
    assert(waits(right(5)).evicted === Some(Seq(named("orders"))))
  }

  test("a side without a bound keeps its state forever") {
    assert(Waits.of(joined(boundOfRight = None))(right(5)).evicted === None)
  }

  test("a join waits for an idle side, unless that side follows") {
    assert(Waits.of(joined())(left(5)).evenIdle === Seq(named("orders"), named("payments")))
    val following = Waits.of(joined(follows = true))
    assert(!following(left(5)).evenIdle.contains(named("payments")))
  }

  test("an aggregation above a union waits for both inputs, and for none that is idle") {
    val shape = aggregation(7, union(orders -> Some(1L), payments -> Some(2L)), 1)
    val waits = Waits.of(shape)(left(7))
    assert(waits.all === Seq(named("orders"), named("payments")))
    assert(waits.evenIdle.isEmpty)
    assert(waits.afterMillis === None)
  }

  test("an aggregation by a carried column waits for that column's input") {
    val below = Join(
      "join",
      OperatorId(5),
      side(orders, 1, Some(Bound(Side.Right, col(2), 0L))),
      side(payments, 2, Some(Bound(Side.Left, col(1), 0L))))
    val shape = aggregation(9, aggregation(7, below, 1, 2), 2)
    assert(Waits.of(shape)(left(9)).late.contains(named("payments")))
  }

  /** The watermarks of all inputs once these origins have reached a time and the others have had no rows. */
  private def reached(shape: PlanShape, heard: Set[OriginName], time: Long) = {
    val origins = names(shape).map(name => name -> state(if (heard(name)) at(time) else Watermark.Unknown)).toMap
    val operators = PlanShape.postOrder(shape).count(PlanShape.inputsOf(_).nonEmpty)
    (0 to operators + 1).foldLeft(Moment.first(shape)) { (before, _) =>
      Moment(shape, before.entry.copy(origins = origins)).next(Observation(Map.empty, Map.empty))
    }.now.inputs
  }

  test("on random plans, an input has no watermark exactly while one that it waits for has had no rows") {
    var waiting, going = 0
    forAll(Gen.long, Gen.choose(0, 3), Gen.choose(1000L, 100000L)) { (seed, index, time) =>
      val shape = RandomPlan(seed)
      val all = names(shape)
      val silent = all(index % all.size)
      val waits = Waits.of(shape)
      val full = reached(shape, all.toSet, time)
      val without = reached(shape, all.toSet - silent, time)
      waits.foreach { case (input, found) =>
        if (full(input).input.watermark.millis.nonEmpty) {
          val isKnown = without(input).input.watermark.millis.nonEmpty
          assert(isKnown === !found.late.contains(silent), s"$input without $silent in $shape")
          if (isKnown) going += 1 else waiting += 1
        }
        for (evicted <- found.evicted) {
          val isKnown = without(input).evicted.exists(_.watermark.millis.nonEmpty)
          assert(isKnown === !evicted.contains(silent), s"state of $input without $silent in $shape")
        }
      }
    }
    // Both must be drawn, or the property would hold for lack of cases.
    assert(waiting > 50 && going > 50, s"$waiting, $going")
  }
}
