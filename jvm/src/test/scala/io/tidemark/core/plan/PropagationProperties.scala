package io.tidemark.core.plan

import scala.util.Random

import io.tidemark.core.Watermark
import io.tidemark.core.memory.Observation
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.support.{Moment, Plans, RandomHistory, RandomPlan, RowModel}

import Plans._
import org.scalacheck.{Gen, Shrink}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** The rules that are never broken, on random plans and histories. A failure names its seed. */
class PropagationProperties extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 500)

  private val seeds = Gen.long
  // Shrinking a seed gives another plan altogether.
  implicit private val noShrinking: Shrink[Long] = Shrink.shrinkAny

  private def history(shape: PlanShape, seed: Long) = RandomHistory(names(shape), seed + 1)
  private def edges(flow: PropagatedNode): Seq[Edge] = flow.inputs.flatMap(edges) :+ flow.out
  private def watermarks(edge: Edge) = (edge.columns.map(c => c._1 -> c._2.watermark), edge.least.map(_.watermark))

  test("no watermark goes back, on any edge and at any operator") {
    forAll(seeds) { seed =>
      val shape = RandomPlan(seed)
      val model = new RowModel(shape, history(shape, seed).delay, width = 1)
      val moments = Moment.first(shape) +: history(shape, seed).batches.map { arrivals =>
        model.batch(arrivals)
        Moment(shape, model.entry)
      }
      moments.zip(moments.tail).foreach { case (before, after) =>
        after.now.requireNotBefore(before.now)
        edges(before.now.root).zip(edges(after.now.root)).foreach { case (b, a) =>
          b.columns.foreach { case (column, held) =>
            assert(a.columns(column).watermark.sparkMillis >= held.watermark.sparkMillis, s"of $column in $shape")
          }
          for (was <- b.least; is <- a.least)
            assert(is.watermark.sparkMillis >= was.watermark.sparkMillis, s"in $shape")
        }
      }
    }
  }

  test("no watermark overtakes a row: a row that is on time at its source is on time at every operator") {
    var judged, late = 0
    forAll(seeds, Gen.oneOf(1L, 4L, 10L)) { (seed, width) =>
      val shape = RandomPlan(seed)
      val run = RowModel.run(shape, history(shape, seed), width)
      assert(run.overtaken.isEmpty, s"in $shape")
      judged += run.judged
      late += run.late
    }
    // Rows must be judged and some must be late, or the property would hold for lack of rows.
    assert(judged > 2000 && late > 200, s"$judged, $late")
  }

  test("a rerun batch makes the same decision from its entry alone") {
    forAll(seeds) { seed =>
      val shape = RandomPlan(seed)
      val model = new RowModel(shape, history(shape, seed).delay, width = 4)
      history(shape, seed).batches.foreach { arrivals =>
        model.batch(arrivals)
        val (went, restarted) = (Moment(shape, model.entry), Moment(shape, model.entry).restarted)
        assert(restarted.entry == went.entry)
        assert(restarted.entry.standing == went.entry.standing)
        assert(restarted.late == went.late && restarted.now == went.now)
      }
    }
  }

  test("rows are late by exactly the watermarks of the previous batch, also after a restart") {
    forAll(seeds) { seed =>
      val shape = RandomPlan(seed)
      val moments = history(shape, seed).observations.scanLeft(Moment.first(shape))(_ next _)
      moments.zip(moments.tail).foreach { case (before, after) => assert(after.restarted.late == before.now) }
    }
  }

  private val anyWatermark =
    Gen.frequency(
      1 -> Gen.const(Watermark.Unknown),
      1 -> Gen.option(Gen.choose(-5L, 60L)).map(Watermark.Idle(_)),
      5 -> Gen.choose(-5L, 60L).map(Watermark.At(_)))

  test("the order of a union's inputs does not matter") {
    forAll(seeds, Gen.listOfN(12, anyWatermark)) { (seed, watermarks) =>
      val shape = RandomPlan(seed)
      val decision = Decision.none.copy(origins = names(shape).zip(watermarks).toMap)
      val plain = Propagation.levels(shape, decision)
      val reordered = Propagation.levels(shuffled(shape, new Random(seed)), decision)
      assert(this.watermarks(reordered.root.out) == this.watermarks(plain.root.out), s"in $shape")
      assert(reordered.unions == plain.unions)
      assert(numbers(reordered) == numbers(plain))
    }
  }

  private def numbers(levels: OperatorWatermarks) = levels.inputs.map { case (input, l) =>
    input -> ((l.input.watermark, l.evicted.map(_.watermark), l.carried.map(_.watermark)))
  }

  private def shuffled(shape: PlanShape, random: Random): PlanShape = shape match {
    case union: Union =>
      val order = random.shuffle(union.inputs.indices.toVector)
      union.copy(
        inputs = order.map(union.inputs(_)).map(shuffled(_, random)),
        columns = union.columns.map(column => column.copy(inputs = order.map(column.inputs(_)))))
    case source: Source => source
    case origin: Origin => origin.copy(input = shuffled(origin.input, random))
    case stateless: Stateless => stateless.copy(inputs = stateless.inputs.map(shuffled(_, random)))
    case stateful: Stateful => stateful.copy(input = shuffled(stateful.input, random))
    case marked: Marked => marked.copy(input = shuffled(marked.input, random))
    case declared: Declared => declared.copy(input = shuffled(declared.input, random))
    case join: Join =>
      def side(of: JoinSide) = of.copy(input = shuffled(of.input, random))
      join.copy(left = side(join.left), right = side(join.right))
  }

  test("the watermark of a union never goes back, whichever inputs become idle and return") {
    forAll(Gen.choose(2, 5).flatMap(n => Gen.nonEmptyListOf(Gen.listOfN(n, anyWatermark)))) { batches =>
      val inputs = batches.head.indices.map(i => origin(s"o$i", i.toLong))
      val shape = aggregation(99, union(inputs.map(o => (o: PlanShape, Option(o.column.value))): _*), active = 0)
      batches.foldLeft(Moment.first(shape)) { (before, watermarks) =>
        val origins = inputs.map(_.name).zip(watermarks.map(state(_))).toMap
        val at = Moment(shape, before.entry.copy(origins = origins))
        at.now.requireNotBefore(at.late)
        at.next(Observation(Map.empty, Map.empty))
      }
    }
  }

  test("the watermark of an operator never goes back, whichever inputs become idle and return") {
    val step = Gen.option(Gen.zip(Gen.choose(0L, 20L), Gen.oneOf(true, false)))
    // Shrinking the steps would make the origins themselves go back.
    implicit val asDrawn: Shrink[List[List[Option[(Long, Boolean)]]]] = Shrink.shrinkAny
    forAll(seeds, Gen.choose(2, 8).flatMap(Gen.listOfN(_, Gen.listOfN(12, step)))) { (seed, batches) =>
      val shape = RandomPlan(seed)
      val origins = names(shape)
      val history = batches.scanLeft(Seq.fill(12)(Watermark.Unknown: Watermark)) { (before, steps) =>
        before.zip(steps).map {
          case (watermark, None) => watermark
          case (watermark, Some((further, idle))) =>
            val reached = watermark.millis.getOrElse(0L) + further
            if (idle) Watermark.Idle(Some(reached)) else Watermark.At(reached)
        }
      }
      history.foldLeft(Moment.first(shape)) { (before, watermarks) =>
        val at = Moment(shape, before.entry.copy(origins = origins.zip(watermarks.map(state(_))).toMap))
        withClue(s"$shape")(at.now.requireNotBefore(at.late))
        at.next(Observation(Map.empty, Map.empty))
      }
    }
  }

  test("an operator is held back only by an origin below it in the plan") {
    forAll(seeds) { seed =>
      val shape = RandomPlan(seed)
      val last = history(shape, seed).observations.foldLeft(Moment.first(shape))(_ next _)
      last.now.inputs.values.flatMap(_.input.by).foreach(by => assert(names(shape).contains(by)))
    }
  }
}
