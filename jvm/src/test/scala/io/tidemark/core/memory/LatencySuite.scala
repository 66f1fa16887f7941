package io.tidemark.core.memory

import io.tidemark.core.memory.Observation.nothing
import io.tidemark.core.plan.{OperatorWatermarks, PlanShape}
import io.tidemark.core.support.{Moment, Plans, RandomHistory, RandomPlan, RowModel}

import Plans._
import org.scalacheck.{Gen, Shrink}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** No unnecessary latency: when no more data comes, batches without data go on until nothing more can come of them. */
class LatencySuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 300)
  implicit private val noShrinking: Shrink[Long] = Shrink.shrinkAny

  private def numbers(levels: OperatorWatermarks) = levels.inputs.map { case (input, l) =>
    input -> ((l.input.watermark, l.evicted.map(_.watermark), l.carried.map(_.watermark)))
  }

  /** Whether a batch is asked for, though there are no data: an operator would go on in it, or in the one after it. */
  private def asksForAnother(at: Moment): Boolean =
    at.now.inputs.keys.exists(input => at.now.progress(input.operator) != at.late.progress(input.operator)) ||
      Observation.needsNoDataBatch(at.shape, at.entry, BatchStart.at(0), Map.empty, at.now)

  test("watermarks that have stopped do not change again, however many no-data batches follow") {
    forAll(Gen.long) { seed =>
      val shape = RandomPlan(seed)
      val history = RandomHistory(names(shape), seed + 1)
      val model = RowModel.run(shape, history, width = 1)
      def at = Moment(shape, model.entry)
      var batches = 0
      while (numbers(at.now) != numbers(at.late)) {
        model.batch(Map.empty)
        batches += 1
      }
      assert(batches <= 2 * PlanShape.postOrder(shape).size + 2)
      val there = at.now
      (1 to 10).foreach(_ => model.batch(Map.empty))
      assert(at.now == there, s"in $shape")
    }
  }

  private def saw(first: Long, second: Long) = Observation(
    Map(
      named("first") -> Observation.OriginObservation.whole(first, 0),
      named("second") -> Observation.OriginObservation.whole(second, 0)),
    Map.empty)

  test("the watermark of a carried column reaches the next operator one batch later") {
    val both = origin("second", 2, origin("first", 1))
    val shape = aggregation(30, aggregation(20, both, 1, carried = 2), active = 2)
    val moments = Seq(saw(100, 50), nothing, nothing).scanLeft(Moment.first(shape))(_ next _)
    assert(moments.map(_.now.inputs(left(20)).carried.head.watermark.sparkMillis) == Seq(0, 50, 50, 50))
    assert(moments.map(_.now.inputs(left(30)).input.watermark.sparkMillis) == Seq(0, 0, 50, 50))
    assert(moments.map(asksForAnother) == Seq(false, true, true, false))
  }

  test("a carried column that has advanced at an operator's input but not at its output requests another batch") {
    val both = origin("second", 2, origin("first", 1))
    val shape = aggregation(30, aggregation(20, both, 1, carried = 2), active = 2)
    val quiet = Seq(saw(100, 50), nothing, nothing).foldLeft(Moment.first(shape))(_ next _)
    assert(!asksForAnother(quiet))
    // The second column alone has advanced.
    val news = quiet.next(saw(100, 80))
    assert(asksForAnother(news))
    assert(news.next(nothing).now.inputs(left(30)).input.watermark == at(80))
    assert(!asksForAnother(news.next(nothing).next(nothing)))
  }

  test("no-data batches are requested until no watermark advances, and no longer") {
    forAll(Gen.long) { seed =>
      val shape = RandomPlan(seed)
      val history = RandomHistory(names(shape), seed + 1)
      val end = history.observations.foldLeft(Moment.first(shape))(_ next _)
      val quiet = Iterator.iterate(end)(_ next nothing).dropWhile(asksForAnother).next()
      def inputs(at: Moment) = at.now.inputs.map { case (input, l) => input -> l.input.watermark.sparkMillis }
      assert(Iterator.iterate(quiet)(_ next nothing).take(5).forall(at => inputs(at) == inputs(quiet)), s"in $shape")
    }
  }
}
