package io.tidemark.core

import io.tidemark.core.Watermark.Unknown
import io.tidemark.core.memory.{Observation, OriginRules, WatermarkEntry}
import io.tidemark.core.plan.{AttributedWatermark, Edge, Floors, OperatorWatermarks, PlanShape, Propagation}
import io.tidemark.core.plan.PlanShape._

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class JoinPropagationSuite extends AnyFunSuite {
  import ActiveOut.{Bounded, Unbounded}

  private val decision = heard("orders" -> at(100), "payments" -> at(40), "bills" -> at(30))

  private def side(input: PlanShape, column: Long, bound: Option[Bound], out: ActiveOut, carried: Long*) =
    JoinSide(input, Some(col(column)), bound, out, carried.map(col), comesOut = true)

  /** orders (column 1) with payments (column 2): `order - 10 < payment < order + 25`. */
  private val ordersSide = side(origin("orders", 1), 1, Some(Bound(Side.Right, col(2), -25)), Bounded)
  private val paymentsSide = side(origin("payments", 2), 2, Some(Bound(Side.Left, col(1), -10)), Bounded)
  private val join = Join("join", OperatorId(0), ordersSide, paymentsSide)

  test("each side of a join is late by its own column and evicted by the other's") {
    val inputs = Propagation.levels(join, decision).inputs
    assert(inputs(left(0)).input == AttributedWatermark(at(100), Some(named("orders"))))
    assert(inputs(left(0)).evicted.contains(AttributedWatermark(at(15), Some(named("payments")))))
    assert(inputs(right(0)).input == AttributedWatermark(at(40), Some(named("payments"))))
    assert(inputs(right(0)).evicted.contains(AttributedWatermark(at(90), Some(named("orders")))))
  }

  test("a column leaves a join no further than its side is closed, and no further than it came") {
    assert(out(join, decision) == Map(1L -> at(15), 2L -> at(40)))
    val columns = Propagation.levels(join, decision).flow.out.columns
    assert(columns(col(1)).by.contains(named("payments")))
    assert(columns(col(2)).by.contains(named("payments")))
  }

  test("behind a join the minimum is that of its columns") {
    assert(Propagation.levels(join, decision).flow.out.least.map(_.watermark).contains(at(15)))
  }

  test("a side never heard of closes nothing on the other") {
    val onlyOrders = heard("orders" -> at(100))
    val inputs = Propagation.levels(join, onlyOrders).inputs
    assert(inputs(left(0)).evicted.map(_.watermark).contains(Unknown))
    assert(inputs(right(0)).evicted.map(_.watermark).contains(at(90)))
    assert(out(join, onlyOrders) == Map(1L -> Unknown, 2L -> Unknown))
  }

  private val idlePayments = heard("orders" -> at(100), "payments" -> Watermark.Idle(Some(40)))
  private val following = join.copy(right = paymentsSide.copy(follows = true))

  test("an idle side is waited for") {
    assert(out(join, idlePayments) == Map(1L -> at(15), 2L -> at(40)))
  }

  test("an idle side that follows is as far as the other, and closes the other's state by that") {
    val inputs = Propagation.levels(following, idlePayments).inputs
    assert(inputs(right(0)).input == AttributedWatermark(at(100), Some(named("orders"))))
    assert(inputs(left(0)).evicted.map(_.watermark).contains(at(75)))
    assert(out(following, idlePayments) == Map(1L -> at(75), 2L -> at(90)))
  }

  test("one that is ahead does not go back to the other, and one that was never heard follows too") {
    def own(payments: Watermark) =
      Propagation.levels(following, heard("orders" -> at(100), "payments" -> payments)).inputs(right(0)).input.watermark
    assert(own(Watermark.Idle(Some(400))) == at(400))
    assert(own(Watermark.Idle(None)) == at(100))
    assert(own(Unknown) == Unknown)
  }

  test("a side that has followed stays where it was when it returns with less, also after a restart") {
    val rules = Map(
      named("orders") -> OriginRules(0),
      named("payments") -> OriginRules(0, idleAfterMillis = Some(1500), followsInJoins = true))
    def saw(times: (String, Long)*) =
      Observation(times.map { case (key, time) => named(key) -> Observation.OfOrigin.whole(time, 0) }.toMap, Map.empty)
    // A batch a second: payments are idle from the third on.
    val start = Moment(following, WatermarkEntry.initial(names(following), -1L, 0L, 0L), rules)
    val silent = start.next(saw("orders" -> 50, "payments" -> 40)).next(saw("orders" -> 60)).next(saw("orders" -> 100))
    assert(silent.now.inputs(right(0)).input.watermark == at(100))
    val back = silent.next(saw("payments" -> 45)).restarted
    assert(back.now.inputs(right(0)).input.watermark == at(100))
    back.now.requireNotBefore(back.late)
    assert(back.next(saw("payments" -> 110)).now.inputs(right(0)).input.watermark == at(110))
  }

  test("both sides idle: so is the join") {
    val idle = heard("orders" -> Watermark.Idle(Some(100)), "payments" -> Watermark.Idle(Some(40)))
    for (shape <- Seq(join, following))
      assert(out(shape, idle) == Map(1L -> Watermark.Idle(Some(15)), 2L -> Watermark.Idle(Some(40))))
  }

  test("a side without a bound goes on as far as both inputs, as in Spark") {
    val shape = join.copy(left = ordersSide.copy(bound = None, activeOut = Unbounded))
    assert(Propagation.levels(shape, decision).inputs(left(0)).evicted.isEmpty)
    assert(out(shape, decision) == Map(1L -> at(40), 2L -> at(40)))
  }

  test("what a side carries that is closed by another time is as one without a bound") {
    val both = origin("orders", 1, origin("created", 3))
    val side = ordersSide.copy(input = both, activeOut = Unbounded, carried = Seq(col(3)))
    val decided = decision.copy(
      origins = decision.origins + (named("created") -> at(90)),
      floors = Floors(Map.empty, Map(CarriedSlot(left(0), 0) -> at(80))))
    val levels = Propagation.levels(join.copy(left = side), decided)
    assert(!levels.inputs(left(0)).keepsLedger)
    assert(out(join.copy(left = side), decided) == Map(1L -> at(40), 2L -> at(40), 3L -> at(40)))
  }

  test("a side that is to be held promises nothing for what it carries either") {
    val side = ordersSide.copy(
      input = origin("orders", 1, origin("created", 3)),
      bound = None,
      activeOut = ActiveOut.Withheld,
      carried = Seq(col(3)))
    val decided = decision.copy(floors = Floors(Map.empty, Map(CarriedSlot(left(0), 0) -> at(80))))
    assert(out(join.copy(left = side), decided).get(3L).contains(Unknown))
  }

  test("an idle side of a join is waited for, and both idle are idle") {
    val one = heard("orders" -> at(100), "payments" -> Watermark.Idle(Some(40)))
    assert(out(join, one) == out(join, decision))
    val both = heard("orders" -> Watermark.Idle(Some(100)), "payments" -> Watermark.Idle(Some(40)))
    assert(out(join, both).values.forall(_.isIdle))
    assert(out(join, both).view.mapValues(_.millis).toMap == out(join, decision).view.mapValues(_.millis).toMap)
  }

  test("a join of which all is idle is left out of a union, and waited for by a join, as an idle input is") {
    val idle = heard(
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

  test("a side without a bound that is to be held promises nothing") {
    val shape = join.copy(left = ordersSide.copy(bound = None, activeOut = ActiveOut.Withheld))
    assert(out(shape, decision) == Map(1L -> Unknown, 2L -> at(40)))
    assert(Propagation.levels(shape, decision).flow.out.least.map(_.watermark).contains(Unknown))
  }

  test("an equal time key bounds both sides by the other's watermark as it is") {
    val shape = join.copy(
      left = ordersSide.copy(bound = Some(Bound(Side.Right, col(2), 0))),
      right = paymentsSide.copy(bound = Some(Bound(Side.Left, col(1), 0))))
    assert(out(shape, decision) == Map(1L -> at(40), 2L -> at(40)))
  }

  test("a side that joins a stream without event time is bounded by itself") {
    val shape = join.copy(
      left = ordersSide.copy(bound = Some(Bound(Side.Left, col(1), 0))),
      right = JoinSide(Source("files"), None, None, Unbounded, Nil, comesOut = true))
    assert(out(shape, decision) == Map(1L -> at(100)))
    assert(Propagation.levels(shape, decision).inputs.keySet == Set(left(0)))
  }

  test("a left semi join lets out its left side only, and still knows how far its right side is") {
    val shape = join.copy(right = paymentsSide.copy(comesOut = false))
    assert(out(shape, decision) == Map(1L -> at(15)))
    assert(Propagation.levels(shape, decision).inputs(right(0)).evicted.map(_.watermark).contains(at(90)))
  }

  test("a side's other columns leave with what the memory says of them") {
    val bills = side(origin("bills", 3, origin("orders", 1)), 1, Some(Bound(Side.Right, col(2), -25)), Bounded, 3)
    val shape = join.copy(left = bills)
    assert(out(shape, decision)(3L) == Unknown)
    val slot = CarriedSlot(left(0), 0)
    assert(out(shape, decision.copy(floors = Floors(Map.empty, Map(slot -> at(28)))))(3L) == at(28))
    assert(Propagation.levels(shape, decision).inputs(left(0)).carried ==
      Seq(AttributedWatermark(at(30), Some(named("bills")))))
  }

  test("where no side has a column left, the minimum of both flows on") {
    def bare(input: PlanShape) = JoinSide(input, None, None, Unbounded, Nil, comesOut = true)
    val shape = Join("join", OperatorId(0), bare(project(origin("orders", 1))), bare(project(origin("payments", 2))))
    assert(Propagation.levels(shape, decision).flow.out ==
      Edge(Map.empty, Some(AttributedWatermark(at(40), Some(named("payments"))))))
  }

  // Impressions (delay 20 minutes) left outer join clicks (delay 10 minutes)
  //   ON clickTime BETWEEN impressionTime AND impressionTime + 2 minutes, then counted by hours of impressionTime.
  //
  // After batch 1 (clicks 10:10, 10:20, 10:30, impression 10:00): impressions 10:00 - 20 min = 9:40, clicks 10:30 - 10 min
  //   = 10:20. No click up to 10:20 can come any more, so an impression that waits for clicks up to 2 minutes later is
  //   done if it is before 10:20 - 2 min, that is up to 10:17:59.999. A click waits for impressions up to its own time:
  //   those before 9:40 are done, that is up to 9:39:59.999. The impressions' column leaves with
  //   min(9:40, 10:17:59.999) = 9:40 and the clicks' with min(10:20, 9:39:59.999). The hours go by 9:40.
  //   (Stock Spark has one watermark, 9:40, for all; it leaves the join as 9:37:59.999.)
  // After batch 2 (clicks 11:01, 11:03, 11:04, impression 11:00): impressions 10:40, clicks 10:54; impressions done up to
  //   10:51:59.999, clicks up to 10:39:59.999; the hours go by 10:40. (Stock: 10:40, and 10:37:59.999 behind the join.)
  test("the walk-through: impressions and clicks") {
    val impressions = side(origin("impressions", 1), 1, Some(Bound(Side.Right, col(2), -minutes(2) - 1)), Bounded)
    val clicks = side(origin("clicks", 2), 2, Some(Bound(Side.Left, col(1), -1)), Bounded)
    val joined = Join("join (left outer)", OperatorId(1), impressions, clicks)
    val shape = aggregation(0, project(joined, 5L -> 1L), active = 5)

    def seen(impression: String, click: String) = Observation(
      Map(
        named("impressions") -> Observation.OfOrigin.whole(time(impression), minutes(20)),
        named("clicks") -> Observation.OfOrigin.whole(time(click), minutes(10))),
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
    // Rows of batch 3 are late by what batch 2 worked with.
    assert(after2.late.inputs == after1.now.inputs)
    assert(after2.now.inputs(left(0)).input.by.contains(named("impressions")))
    assert(after2.entry.standing.least(names(shape)) == at(time("10:40")))
  }
}
