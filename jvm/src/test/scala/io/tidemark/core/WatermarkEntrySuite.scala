package io.tidemark.core

import io.tidemark.core.memory.{CarriedMinima, Observation, OriginState, WatermarkEntry}
import io.tidemark.core.plan.{Decision, Floors}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class WatermarkEntrySuite extends AnyFunSuite {
  private val (a, b) = (named("a"), named("b"))

  private def entry(batch: Long, decision: Decision, origins: (OriginName, OriginState)*) =
    WatermarkEntry(batch, 5000, 5000, decision, origins.toMap, Floors.none, Map.empty)

  test("before the first batch nothing is known") {
    val first = WatermarkEntry.initial(Seq(a, b), -1, 0, 0)
    assert(first.batch == -1)
    assert(first.decision == Decision.none)
    assert(first.standing == Decision.none)
  }

  test("on a checkpoint of Spark's, its watermark is the floor of every origin") {
    val first = WatermarkEntry.initial(Seq(a, b), 7, previous = 30, current = 50)
    assert(first.batch == 7)
    assert(first.decision == Decision.none.copy(origins = Map(a -> at(30), b -> at(30))))
    assert(first.standing == Decision.none.copy(origins = Map(a -> at(50), b -> at(50))))
  }

  test("Spark's 0 is no watermark") {
    val first = WatermarkEntry.initial(Seq(a), 0, previous = 0, current = 50)
    assert(first.decision == Decision.none)
    assert(first.standing.origin(a) == at(50))
  }

  test("an origin that has a floor goes on from it") {
    val shape = origin("a", 1)
    val start = Moment(shape, WatermarkEntry.initial(Seq(a), 7, 30, 50))
    val low = start.next(Observation(Map(a -> Observation.OfOrigin.whole(45, 5)), Map.empty))
    assert(low.entry.standing.origin(a) == at(50))
    assert(low.entry.origins(a).maxEventTimeMillis.contains(45L))
  }

  private val known = entry(
    3,
    heard("a" -> at(10), "b" -> at(40)),
    a -> state(at(20), Some(25)),
    b -> state(at(60), Some(65)))
    .copy(
      floors = Floors(Map(UnionSlot(0, 0) -> at(15)), Map(CarriedSlot(left(1), 0) -> at(12))),
      ledgers = Map(left(1) -> CarriedMinima.empty))
  private val floor = WatermarkEntry.initial(Seq(a, b), 9, previous = 30, current = 50)
  private val raised = known.raisedTo(floor)

  test("an entry that is raised is of the later batch") {
    assert(raised.batch == 9)
  }

  test("raised, each origin has the later of its clock and the floor") {
    assert(raised.origins == Map(a -> state(at(50), Some(25)), b -> state(at(60), Some(65))))
  }

  test("raised, late rows are judged by what the next batch would have worked with, and never before the floor") {
    assert(raised.decision.origins == Map(a -> at(30), b -> at(60)))
  }

  test("raised, late rows are judged as if every input were waited for: who was idle may be heard in the next batch") {
    val idle = entry(3, Decision.none, a -> state(Watermark.Idle(Some(70)), Some(75))).raisedTo(floor)
    assert(idle.decision.origin(a) == at(70))
  }

  test("raised, unions, carried columns and ledgers are as they were") {
    assert(raised.floors == known.floors)
    assert(raised.ledgers == known.ledgers)
    assert(raised.decision.floors == known.floors)
  }

  test("raised to nothing, an entry decides as before") {
    assert(known.raisedTo(WatermarkEntry.initial(Nil, 4, 0, 0)).standing == known.standing)
  }

  test("raised, an origin that the floor does not name is kept, and one that only the floor names begins there") {
    val some = entry(3, Decision.none, a -> state(at(20), Some(25))).raisedTo(WatermarkEntry.initial(Seq(b), 9, 30, 50))
    assert(some.origins == Map(a -> state(at(20), Some(25)), b -> state(at(50), None)))
  }

  test("an origin that is new to the plan begins at Spark's watermark, one that is remembered goes on from its own") {
    val some = entry(8, heard("a" -> at(10)), a -> state(at(20), Some(25))).withOriginsOf(floor)
    assert(some.decision == heard("a" -> at(10), "b" -> at(30)))
    assert(some.origins == Map(a -> state(at(20), Some(25)), b -> state(at(50), None)))
    assert(some.batch == 8)
  }

  test("a plan without new origins goes on as it would have") {
    assert(known.withOriginsOf(floor) == known)
    assert(known.withOriginsOf(WatermarkEntry.initial(Seq(named("new")), 3, 0, 0)) == known)
  }

  test("a batch that works with a raised entry is not behind the one before it") {
    val shape = union(origin("a", 1) -> Some(1), origin("b", 2) -> Some(2))
    val count = aggregation(1, shape, active = 1)
    Moment(count, raised).now.requireNotBefore(Moment(count, known).now)
    Moment(count, raised).now.requireNotBefore(Moment(count, raised).late)
  }
}
