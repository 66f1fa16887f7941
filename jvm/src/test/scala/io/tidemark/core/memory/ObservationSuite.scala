package io.tidemark.core.memory

import scala.collection.immutable.TreeMap

import io.tidemark.core.{CarriedSlot, UnionSlot, Watermark}
import io.tidemark.core.plan.{Decision, Floors, Propagation}
import io.tidemark.core.support.{Moment, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class ObservationSuite extends AnyFunSuite {
  private val orders = named("orders")
  private val shape = origin("orders", 1)
  private val start = Moment.first(shape)

  private def saw(newest: Long, delay: Long) =
    Observation(Map(orders -> Observation.OriginObservation.whole(newest, delay)), Map.empty)
  private val nothing = Observation(Map.empty, Map.empty)

  private def reached(entry: WatermarkEntry) =
    (entry.origins(orders).watermark, entry.origins(orders).maxEventTimeMillis)

  test("a clock is the largest event time minus the delay") {
    val after = start.next(saw(100, 30)).entry
    assert(reached(after) == ((at(70), Some(100))))
    assert(after.standing.origin(orders) == at(70))
  }

  test("an entry records its batch, when the batch ran, and the decision that the batch used") {
    val first = start.next(saw(100, 30)).entry
    val ended = Observation.BatchEnd(1, BatchStart.at(4711), 4712)
    val decision = first.standing
    val second = Observation.observe(first, ended, decision, Propagation.levels(shape, decision), nothing, Map.empty)
    assert((second.batch, second.timestampMillis, second.endMillis, second.decision) == ((1L, 4711L, 4712L, decision)))
  }

  test("a clock never goes back, and neither does the largest event time") {
    val after = start.next(saw(100, 30)).next(saw(50, 30)).entry
    assert(reached(after) == ((at(70), Some(100))))
  }

  test("a larger delay after a restart does not move a clock back") {
    val after = start.next(saw(100, 30)).next(saw(110, 90)).entry
    assert(reached(after) == ((at(70), Some(110))))
  }

  test("a smaller delay advances a clock in the same batch") {
    assert(start.next(saw(100, 30)).next(saw(100, 10)).entry.standing.origin(orders) == at(90))
  }

  test("an origin without new rows keeps its clock") {
    val active = start.next(saw(100, 30))
    assert(active.next(nothing).entry.origins == active.entry.origins)
  }

  test("an origin that never had a row has an unknown watermark") {
    assert(start.next(nothing).entry.standing.origin(orders) == Watermark.Unknown)
  }

  test("a clock before 1970 is valid") {
    assert(start.next(saw(-100, 30)).entry.standing.origin(orders) == at(-130))
  }

  test("rows are late by the watermark of the previous batch") {
    val second = start.next(saw(100, 30)).next(saw(200, 30))
    assert(second.late.root.out.columns(col(1)).watermark == at(70))
    assert(second.now.root.out.columns(col(1)).watermark == at(170))
  }

  test("a union keeps its watermark when an input returns with older rows") {
    val both = union(origin("orders", 1) -> Some(1), origin("payments", 2) -> Some(2))
    def entry(payments: Watermark, floors: Map[UnionSlot, Watermark]) =
      WatermarkEntry.initial(Nil, 0, 0, 0).copy(
        origins = Map(orders -> state(at(100)), named("payments") -> state(payments)),
        floors = Floors(floors, Map.empty))
    val idle = Moment(both, entry(Watermark.Idle(None), Map.empty)).next(nothing).entry
    assert(idle.floors.unions == Map(UnionSlot(0, 0) -> at(100)))
    val returned = Moment(both, entry(at(20), idle.floors.unions))
    assert(returned.now.unions == Map(UnionSlot(0, 0) -> at(100)))
    assert(returned.next(nothing).entry.floors.unions == idle.floors.unions)
  }

  // Rows with columns 1 (active) and 2 (carried) are aggregated; the active column closes state up to 70.
  private val carrying = aggregation(3, origin("payments", 2, origin("orders", 1)), 1, carried = 2)
  private val slot = CarriedSlot(left(3), 0)
  private def entry(payments: Watermark, carried: Watermark, inState: (Long, Long)*) = WatermarkEntry(
    batch = 6,
    timestampMillis = 0,
    endMillis = 0,
    decision = Decision.none,
    origins = Map(orders -> state(at(70)), named("payments") -> state(payments)),
    floors = Floors(Map.empty, Map(slot -> carried)),
    ledgers = Map(left(3) -> ledger(inState: _*)))
  private def ledger(inState: (Long, Long)*) =
    CarriedMinima(1, TreeMap.from(inState.map { case (active, carried) => active -> Vector(Some(carried)) }))
  private def carriedAfter(entry: WatermarkEntry, noted: (Long, Long)*): Watermark =
    Moment(carrying, entry).next(Observation(Map.empty, Map(left(3) -> ledger(noted: _*)))).entry.floors.carried(slot)

  test("a carried column has its input watermark when the state is empty") {
    assert(carriedAfter(entry(payments = at(40), carried = at(10))) == at(40))
  }

  test("the watermark of a carried column does not pass the oldest value in state") {
    assert(carriedAfter(entry(at(40), at(10), inState = 80L -> 25L, 90L -> 35L)) == at(24))
  }

  test("the watermark of a carried column does not pass a value that this batch added to the state") {
    assert(carriedAfter(entry(at(40), at(10)), noted = 75L -> 22L) == at(21))
  }

  test("a value that this batch has evicted no longer holds a carried column back") {
    assert(carriedAfter(entry(at(40), at(10), inState = 70L -> 25L)) == at(40))
    assert(carriedAfter(entry(at(40), at(10)), noted = 60L -> 22L) == at(40))
    assert(carriedAfter(entry(at(40), at(10), inState = 71L -> 25L)) == at(24))
  }

  test("a newer value in state does not hold a carried column back") {
    assert(carriedAfter(entry(at(40), at(10), inState = 80L -> 99L)) == at(40))
  }

  test("the watermark of a carried column never goes back, even if a row is late by it") {
    assert(carriedAfter(entry(at(40), at(30), inState = 80L -> 5L)) == at(30))
  }

  test("a carried column without an input watermark stays unknown") {
    assert(carriedAfter(entry(Watermark.Unknown, Watermark.Unknown, inState = 80L -> 5L)) == Watermark.Unknown)
  }

  test("a batch uses the watermarks from before it, so that no on-time row of the batch is overtaken") {
    val before = entry(at(40), at(10))
    assert(Moment(carrying, before).now.root.out.columns(col(2)).watermark == at(10))
    assert(Moment(carrying, before).next(nothing).now.root.out.columns(col(2)).watermark == at(40))
  }

  test("the ledger keeps the values that are still in state") {
    val seen = Observation(Map.empty, Map(left(3) -> ledger(60L -> 1L, 90L -> 33L)))
    val after = Moment(carrying, entry(at(40), at(10), inState = 65L -> 2L, 90L -> 44L, 95L -> 55L)).next(seen).entry
    assert(after.ledgers == Map(left(3) -> ledger(90L -> 33L, 95L -> 55L)))
  }

  test("an operator without carried columns keeps no ledger") {
    val shape = aggregation(3, origin("orders", 1), active = 1)
    val seen = Observation(Map.empty, Map(left(3) -> ledger(60L -> 1L)))
    assert(Moment.first(shape).next(seen).entry.ledgers.isEmpty)
  }
}
