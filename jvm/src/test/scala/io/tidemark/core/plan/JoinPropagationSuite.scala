package io.tidemark.core.plan

import io.tidemark.core.{CarriedSlot, OperatorId, Side}
import io.tidemark.core.Watermark.Unknown
import io.tidemark.core.memory.Observation
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.{JoinPlans, Moment, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** What each side of a join drops and evicts, and how far its columns are after the join. */
class JoinPropagationSuite extends AnyFunSuite with JoinPlans {
  import ActiveOut.{Bounded, Unbounded}

  test("each join side judges late rows by its own watermark and evicts state by the other side's") {
    val inputs = Propagation.levels(join, decision).inputs
    assert(inputs(left(0)).input == AttributedWatermark(at(100), Some(named("orders"))))
    assert(inputs(left(0)).evicted.contains(AttributedWatermark(at(15), Some(named("payments")))))
    assert(inputs(right(0)).input == AttributedWatermark(at(40), Some(named("payments"))))
    assert(inputs(right(0)).evicted.contains(AttributedWatermark(at(90), Some(named("orders")))))
  }

  test("a column's watermark after a join passes neither its input watermark nor the eviction of its side") {
    assert(out(join, decision) == Map(1L -> at(15), 2L -> at(40)))
    val columns = Propagation.levels(join, decision).root.out.columns
    assert(columns(col(1)).by.contains(named("payments")))
    assert(columns(col(2)).by.contains(named("payments")))
  }

  test("the minimum watermark after a join is the minimum of the join's columns") {
    assert(Propagation.levels(join, decision).root.out.least.map(_.watermark).contains(at(15)))
  }

  test("a join side without a watermark yet evicts no state of the other side") {
    val onlyOrders = decided("orders" -> at(100))
    val inputs = Propagation.levels(join, onlyOrders).inputs
    assert(inputs(left(0)).evicted.map(_.watermark).contains(Unknown))
    assert(inputs(right(0)).evicted.map(_.watermark).contains(at(90)))
    assert(out(join, onlyOrders) == Map(1L -> Unknown, 2L -> Unknown))
  }

  test("a join side without a bound has the minimum watermark of both inputs, as in Spark") {
    val shape = join.copy(left = ordersSide.copy(bound = None, activeOut = Unbounded))
    assert(Propagation.levels(shape, decision).inputs(left(0)).evicted.isEmpty)
    assert(out(shape, decision) == Map(1L -> at(40), 2L -> at(40)))
  }

  test("the carried columns of a side that another time closes have the minimum watermark of both inputs") {
    val both = origin("orders", 1, origin("created", 3))
    val side = ordersSide.copy(input = both, activeOut = Unbounded, carried = Seq(col(3)))
    val decided = decision.copy(
      origins = decision.origins + (named("created") -> at(90)),
      floors = Floors(Map.empty, Map(CarriedSlot(left(0), 0) -> at(80))))
    val levels = Propagation.levels(join.copy(left = side), decided)
    assert(!levels.inputs(left(0)).keepsLedger)
    assert(out(join.copy(left = side), decided) == Map(1L -> at(40), 2L -> at(40), 3L -> at(40)))
  }

  test("a side without a bound gives its carried columns no watermark with unboundedJoin=hold") {
    val side = ordersSide.copy(
      input = origin("orders", 1, origin("created", 3)),
      bound = None,
      activeOut = ActiveOut.Withheld,
      carried = Seq(col(3)))
    val decided = decision.copy(floors = Floors(Map.empty, Map(CarriedSlot(left(0), 0) -> at(80))))
    assert(out(join.copy(left = side), decided).get(3L).contains(Unknown))
  }

  test("a side without a bound gives its column no watermark with unboundedJoin=hold") {
    val shape = join.copy(left = ordersSide.copy(bound = None, activeOut = ActiveOut.Withheld))
    assert(out(shape, decision) == Map(1L -> Unknown, 2L -> at(40)))
    assert(Propagation.levels(shape, decision).root.out.least.map(_.watermark).contains(Unknown))
  }

  test("a join on equal event times bounds each side by the other side's watermark") {
    val shape = join.copy(
      left = ordersSide.copy(bound = Some(Bound(Side.Right, col(2), 0))),
      right = paymentsSide.copy(bound = Some(Bound(Side.Left, col(1), 0))))
    assert(out(shape, decision) == Map(1L -> at(40), 2L -> at(40)))
  }

  test("a side that joins a stream without event time is bounded by its own watermark") {
    val shape = join.copy(
      left = ordersSide.copy(bound = Some(Bound(Side.Left, col(1), 0))),
      right = JoinSide(Source("files"), None, None, Unbounded, Nil, comesOut = true))
    assert(out(shape, decision) == Map(1L -> at(100)))
    assert(Propagation.levels(shape, decision).inputs.keySet == Set(left(0)))
  }

  test("a left semi join emits only its left side, and still evicts the state of its right side") {
    val shape = join.copy(right = paymentsSide.copy(comesOut = false))
    assert(out(shape, decision) == Map(1L -> at(15)))
    assert(Propagation.levels(shape, decision).inputs(right(0)).evicted.map(_.watermark).contains(at(90)))
  }

  test("a carried column of a join side leaves with the watermark that is remembered for it") {
    val bills = side(origin("bills", 3, origin("orders", 1)), 1, Some(Bound(Side.Right, col(2), -25)), Bounded, 3)
    val shape = join.copy(left = bills)
    assert(out(shape, decision)(3L) == Unknown)
    val slot = CarriedSlot(left(0), 0)
    assert(out(shape, decision.copy(floors = Floors(Map.empty, Map(slot -> at(28)))))(3L) == at(28))
    assert(Propagation.levels(shape, decision).inputs(left(0)).carried ==
      Seq(AttributedWatermark(at(30), Some(named("bills")))))
  }

  test("a join without an event-time column on either side passes on the minimum watermark of both") {
    def bare(input: PlanShape) = JoinSide(input, None, None, Unbounded, Nil, comesOut = true)
    val shape = Join("join", OperatorId(0), bare(project(origin("orders", 1))), bare(project(origin("payments", 2))))
    assert(Propagation.levels(shape, decision).root.out ==
      Edge(Map.empty, Some(AttributedWatermark(at(40), Some(named("payments"))))))
  }

  // Impressions (delay 20 minutes) left outer join clicks (delay 10 minutes)
  //   ON clickTime BETWEEN impressionTime AND impressionTime + 2 minutes, then counted by hours of impressionTime.
  //
  // After batch 1 (clicks 10:10, 10:20, 10:30, impression 10:00): impressions 10:00 - 20 min = 9:40, clicks 10:30 - 10 min
  //   = 10:20. No further click up to 10:20 can come. So an impression that waits for clicks up to 2 minutes later is
  //   done if it is before 10:20 - 2 min, that is up to 10:17:59.999. A click waits for impressions up to its own time:
  //   those before 9:40 are done, that is up to 9:39:59.999. The impressions' column leaves with
  //   min(9:40, 10:17:59.999) = 9:40 and the clicks' with min(10:20, 9:39:59.999). The hours use 9:40.
  //   (Stock Spark has one watermark, 9:40, for all; it leaves the join as 9:37:59.999.)
  // After batch 2 (clicks 11:01, 11:03, 11:04, impression 11:00): impressions 10:40, clicks 10:54; impressions done up to
  //   10:51:59.999, clicks up to 10:39:59.999; the hours use 10:40. (Stock: 10:40, and 10:37:59.999 behind the join.)
  test("the walk-through of impressions and clicks gives the watermarks that were computed by hand") {
    val impressions = side(origin("impressions", 1), 1, Some(Bound(Side.Right, col(2), -minutes(2) - 1)), Bounded)
    val clicks = side(origin("clicks", 2), 2, Some(Bound(Side.Left, col(1), -1)), Bounded)
    val joined = Join("join (left outer)", OperatorId(1), impressions, clicks)
    val shape = aggregation(0, project(joined, 5L -> 1L), active = 5)

    def seen(impression: String, click: String) = Observation(
      Map(
        named("impressions") -> Observation.OriginObservation.whole(time(impression), minutes(20)),
        named("clicks") -> Observation.OriginObservation.whole(time(click), minutes(10))),
      Map.empty)
    val start = Moment.first(shape)
    val after1 = start.next(seen("10:00", "10:30"))
    val after2 = after1.next(seen("11:00", "11:04"))

    def levels(levels: OperatorWatermarks) =
      Seq(levels.inputs(left(1)), levels.inputs(right(1)), levels.inputs(left(0))).map(l =>
        (l.input.watermark.millis, l.evicted.get.watermark.millis))
    def times(pairs: (String, String)*) = pairs.map { case (in, evicted) => (Some(time(in)), Some(time(evicted))) }

    assert(start.now.inputs.values.forall(_.input.watermark == Unknown))
    assert(levels(after1.now) == times("9:40" -> "10:17:59.999", "10:20" -> "9:39:59.999", "9:40" -> "9:40"))
    assert(levels(after2.now) == times("10:40" -> "10:51:59.999", "10:54" -> "10:39:59.999", "10:40" -> "10:40"))
    // Rows of batch 3 are late by the watermarks of batch 2.
    assert(after2.late.inputs == after1.now.inputs)
    assert(after2.now.inputs(left(0)).input.by.contains(named("impressions")))
    assert(after2.entry.standing.least(names(shape)) == at(time("10:40")))
  }
}
