package io.tidemark.core.memory

import io.tidemark.core.{CarriedSlot, OriginName, UnionSlot, Watermark}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.support.{Moment, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class WatermarkEntrySuite extends AnyFunSuite {
  private val (a, b) = (named("a"), named("b"))

  private def entry(batch: Long, decision: Decision, origins: (OriginName, OriginState)*) =
    WatermarkEntry(batch, 5000, 5000, decision, origins.toMap, Floors.none, Map.empty)

  test("no watermark is known before the first batch") {
    val first = WatermarkEntry.initial(Seq(a, b), -1, 0, 0)
    assert(first.batch == -1)
    assert(first.decision == Decision.none)
    assert(first.standing == Decision.none)
  }

  test("the watermark in a checkpoint of stock Spark is the floor of every origin") {
    val first = WatermarkEntry.initial(Seq(a, b), 7, previous = 30, current = 50)
    assert(first.batch == 7)
    assert(first.decision == Decision.none.copy(origins = Map(a -> at(30), b -> at(30))))
    assert(first.standing == Decision.none.copy(origins = Map(a -> at(50), b -> at(50))))
  }

  test("a Spark watermark of 0 counts as no watermark") {
    val first = WatermarkEntry.initial(Seq(a), 0, previous = 0, current = 50)
    assert(first.decision == Decision.none)
    assert(first.standing.origin(a) == at(50))
  }

  test("an origin with a floor continues from the floor") {
    val shape = origin("a", 1)
    val start = Moment(shape, WatermarkEntry.initial(Seq(a), 7, 30, 50))
    val low = start.next(Observation(Map(a -> Observation.OriginObservation.whole(45, 5)), Map.empty))
    assert(low.entry.standing.origin(a) == at(50))
    assert(low.entry.origins(a).maxEventTimeMillis.contains(45L))
  }

  private val known = entry(
    3,
    decided("a" -> at(10), "b" -> at(40)),
    a -> state(at(20), Some(25)),
    b -> state(at(60), Some(65)))
    .copy(
      floors = Floors(Map(UnionSlot(0, 0) -> at(15)), Map(CarriedSlot(left(1), 0) -> at(12))),
      ledgers = Map(left(1) -> CarriedMinima.empty))
  private val floor = WatermarkEntry.initial(Seq(a, b), 9, previous = 30, current = 50)
  private val raised = known.raisedTo(floor)

  test("a raised entry has the later batch number") {
    assert(raised.batch == 9)
  }

  test("each origin of a raised entry has the later of its clock and the floor") {
    assert(raised.origins == Map(a -> state(at(50), Some(25)), b -> state(at(60), Some(65))))
  }

  test("a raised entry judges late rows by the next batch's watermarks, and never by less than the floor") {
    assert(raised.decision.origins == Map(a -> at(30), b -> at(60)))
  }

  test("a raised entry judges late rows as if no input were idle, because an idle input may have rows next") {
    val idle = entry(3, Decision.none, a -> state(Watermark.Idle(Some(70)), Some(75))).raisedTo(floor)
    assert(idle.decision.origin(a) == at(70))
  }

  test("a raised entry keeps its unions, carried columns and ledgers") {
    assert(raised.floors == known.floors)
    assert(raised.ledgers == known.ledgers)
    assert(raised.decision.floors == known.floors)
  }

  test("an entry that is raised to an empty floor makes the same decision") {
    assert(known.raisedTo(WatermarkEntry.initial(Nil, 4, 0, 0)).standing == known.standing)
  }

  test("a raised entry keeps an origin that the floor lacks, and starts an origin that only the floor has") {
    val some = entry(3, Decision.none, a -> state(at(20), Some(25))).raisedTo(WatermarkEntry.initial(Seq(b), 9, 30, 50))
    assert(some.origins == Map(a -> state(at(20), Some(25)), b -> state(at(50), None)))
  }

  test("a new origin starts at Spark's watermark, and a remembered origin continues from its own watermark") {
    val some = entry(8, decided("a" -> at(10)), a -> state(at(20), Some(25))).withOriginsOf(floor)
    assert(some.decision == decided("a" -> at(10), "b" -> at(30)))
    assert(some.origins == Map(a -> state(at(20), Some(25)), b -> state(at(50), None)))
    assert(some.batch == 8)
  }

  test("an entry does not change when the plan has no new origins") {
    assert(known.withOriginsOf(floor) == known)
    assert(known.withOriginsOf(WatermarkEntry.initial(Seq(named("new")), 3, 0, 0)) == known)
  }

  test("a batch that uses a raised entry is not behind the batch before it") {
    val shape = union(origin("a", 1) -> Some(1), origin("b", 2) -> Some(2))
    val count = aggregation(1, shape, active = 1)
    Moment(count, raised).now.requireNotBefore(Moment(count, known).now)
    Moment(count, raised).now.requireNotBefore(Moment(count, raised).late)
  }
}
