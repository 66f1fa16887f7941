package io.tidemark.core.memory

import scala.collection.immutable.TreeMap

import io.tidemark.core.{CarriedSlot, OriginName, UnionSlot, Watermark}
import io.tidemark.core.plan.{Decision, Floors, PlanShape, Propagation}
import io.tidemark.core.splits.{SplitNameTable, SplitState}
import io.tidemark.core.support.{Plans, SplitList}

import Plans._
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** What a correction takes back, and what it leaves. */
class CorrectionsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val (a, b) = (named("a"), named("b"))
  private val year2100 = 4102444800000L

  private def split(name: String, clock: Option[Long], state: SplitState = SplitState.Active) =
    SplitList.One(SplitNameTable.encode(Seq(Some(name))), state, clock, 0L)

  private def of(watermark: Watermark, maxMillis: Option[Long], splits: SplitList.One*) =
    OriginState(SplitList.splits(splits, watermark), maxMillis)

  private def entry(origins: (OriginName, OriginState)*) = {
    val decision = Decision(origins.map { case (name, state) => name -> state.watermark }.toMap)
    WatermarkEntry(7, 5000, 5000, decision, origins.toMap, Floors.none, Map.empty)
  }

  private def takenBack(entry: WatermarkEntry, to: Long, split: Option[Int] = None) =
    CorrectEntry.takeBack(entry, a, split.map(Set(_)), Some(to), nowMillis = 0)

  test("clocks, watermark and largest event time of an input go back to the time") {
    val before = entry(a -> of(at(year2100 - 600), Some(year2100), split("x", Some(year2100 - 600))))
    val after = takenBack(before, 1000)
    val state = after.origins(a)
    assert(state.watermark === at(1000))
    assert(state.splits.clock(0) === Some(1000L))
    assert(state.maxEventTimeMillis === Some(1600L))
    assert(after.decision.origin(a) === at(1000))
    assert(after.correction.map(correction => (correction.batch, correction.queryMillis, correction.origins)) ===
      Some((7L, 1000L, Set(a))))
    assert(takenBack(after, 1000) === after)
  }

  test("without a time, clocks go back to the wall clock less the delay, and only if one is ahead of it") {
    def default(now: Long) = CorrectEntry.takeBack(
      entry(a -> of(at(9400), Some(10000), split("x", Some(9400)), split("y", Some(9500)))),
      a,
      None,
      None,
      now)
    assert(default(9500).correction === None)
    assert(default(5000).origins(a).watermark === at(4500))
    assert(default(5000).origins(a).maxEventTimeMillis === Some(5000L))
  }

  test("one split goes back alone, and the watermark only if the clocks do not say more") {
    val several = entry(a -> of(at(900), Some(year2100), split("x", Some(900)), split("y", Some(year2100))))
    val state = takenBack(several, 1000, Some(1)).origins(a)
    assert(state.splits.clock(0) === Some(900L) && state.splits.clock(1) === Some(1000L))
    assert(state.watermark === at(900))
    assert(takenBack(several, 1000, Some(1)).decision === several.decision)
    val alone =
      entry(a -> of(at(year2100), Some(year2100), split("x", Some(900), SplitState.Idle), split("y", Some(year2100))))
    assert(takenBack(alone, 1000, Some(1)).origins(a).watermark === at(1000))
    assert(takenBack(alone, 1000, Some(0)) === alone)
  }

  test("a split that was behind and has caught up holds the watermark again") {
    val behind =
      entry(a -> of(at(year2100), None, split("x", Some(2000), SplitState.CatchingUp), split("y", Some(year2100))))
    assert(takenBack(behind, 1000).origins(a).splits.state(0) === SplitState.Active)
  }

  test("what may follow from the watermark goes back with it, and what is later than it was stays") {
    val slot = CarriedSlot(left(0), 0)
    def floors(union: Long, carried: Long, input: Long) =
      Floors(Map(UnionSlot(0, 0) -> at(union)), Map(slot -> at(carried)), Map(left(1) -> at(input)))
    val reached = floors(8000, 500, 20000)
    val before = entry(a -> of(at(9000), Some(9000), split("x", Some(9000))), b -> state(Watermark.Idle(Some(8000))))
      .copy(floors = reached)
    val after = takenBack(before.copy(decision = before.decision.copy(floors = floors(7000, 400, 19000))), 1000)
    assert(after.floors === floors(1000, 500, 20000))
    assert(after.decision.floors === floors(1000, 400, 19000))
    // An idle input may have rows next.
    assert(after.decision.origins === Map(a -> at(1000), b -> at(8000)))
  }

  test("a carried value whose row no watermark will reach no longer holds its column") {
    val ledger = CarriedMinima(1000, TreeMap(2000L -> Vector(Some(5L)), year2100 -> Vector(Some(3L))))
    def corrected(watermark: Long) =
      takenBack(
        entry(a -> of(at(watermark), None, split("x", Some(watermark)))).copy(ledgers = Map(left(0) -> ledger)),
        1000).ledgers(left(0))
    assert(corrected(year2100).buckets.keySet === Set(2000L))
    // Windows may be this long.
    assert(corrected(1000L + 24 * 3600 * 1000) === ledger)
  }

  test("a split that is forgotten no longer holds the watermark, which does not go back") {
    val before =
      entry(a -> of(at(900), Some(2100), split("x", Some(900)), split("y", Some(2000)), split("z", Some(1500))))
    val after = CorrectEntry.forget(before, a, Set(0)).origins(a)
    assert((0 until after.splits.size).map(after.splits.name(_).head.get) === Seq("y", "z"))
    assert(after.watermark === at(1500))
    assert(after.maxEventTimeMillis === Some(2100L))
    val ahead = CorrectEntry.forget(before, a, Set(1)).origins(a)
    assert(ahead.watermark === at(900))
    assert(ahead.maxEventTimeMillis === Some(1600L))
  }

  private val shapes: Seq[PlanShape] = {
    val both = union(origin("a", 1) -> Some(1), origin("b", 2) -> Some(2))
    Seq(aggregation(0, both, active = 1), aggregation(1, aggregation(0, both, 1), 1), aggregation(0, origin("a", 1), 1))
  }

  private val watermarks: Gen[Watermark] = Gen.frequency(
    5 -> Gen.choose(0L, 50L).map(Watermark.At(_)),
    2 -> Gen.option(Gen.choose(0L, 50L)).map(Watermark.Idle(_)),
    1 -> Gen.const(Watermark.Unknown))

  test("no operator's watermark in the batch after a correction is before the one that judges its rows") {
    val steps = Gen.zip(watermarks, watermarks, Gen.choose(0L, 50L), Gen.choose(0L, 50L))
    forAll(Gen.oneOf(shapes), steps, steps, Gen.choose(0L, 50L)) { case (shape, first, second, to) =>
      val (worked, reached) = (Seq(first, second).minBy(_._3), Seq(first, second).maxBy(_._3))
      val states = Seq(a -> (worked._1, reached._1), b -> (worked._2, reached._2)).map { case (name, (was, is)) =>
        name -> (was, if (is.isIdle) Watermark.Idle(is.later(was).millis) else is.later(was))
      }
      val before = WatermarkEntry(
        7,
        5000,
        5000,
        Decision(
          states.map { case (name, (was, _)) => name -> was }.toMap,
          Floors(Map(UnionSlot(0, 0) -> at(worked._3)), Map.empty)),
        states.map { case (name, (_, is)) => name -> state(is) }.toMap,
        Floors(Map(UnionSlot(0, 0) -> at(reached._3)), Map.empty),
        Map.empty)
      val after = takenBack(before, to)
      if (after ne before) {
        val (late, now) = (Propagation.levels(shape, after.decision), Propagation.levels(shape, after.standing))
        now.requireNotBefore(late)
        val was = before.origins(a).watermark.millis
        if (was.exists(_ > to))
          assert(after.floors.union(UnionSlot(0, 0)).millis.forall(at => at <= to || was.exists(at > _)))
      }
    }
  }
}
