package io.tidemark.core.memory

import io.tidemark.core.Watermark
import io.tidemark.core.memory.CutSearch.{Forgotten, NotYet, Reached}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, Splits}

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class CutSearchSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def search(from: Long, reached: Seq[(Option[Long], Option[Long])]) = {
    val entries = reached.zipWithIndex.map { case ((watermark, latest), n) => (from + n) -> Reached(watermark, latest) }
    new CutSearch(entries.map(_._1).toIndexedSeq, entries.toMap.get)
  }

  private val millis: Long => Long = _ * 1000L

  private val histories = for {
    from <- Gen.oneOf(0L, 7L)
    steps <- Gen.nonEmptyListOf(Gen.choose(0L, 3L).flatMap(a => Gen.choose(0L, 3L).map(b => (a, b))))
    undefined <- Gen.choose(0, 2)
  } yield {
    val reached = steps.scanLeft((0L, 0L)) { case ((w, m), (dw, dm)) => (w + dw, m + dm) }.tail
    from -> reached.zipWithIndex.map { case ((w, m), n) =>
      (Option.when(n >= undefined)(w), Option.when(n >= undefined)(m + 5))
    }
  }

  test("complete is the first batch whose watermark has reached the time") {
    forAll(histories, Gen.choose(-1L, 30L)) { case ((from, reached), at) =>
      val first = reached.indexWhere(_._1.exists(_ >= at))
      val expected =
        if (first < 0) Left(NotYet(from + reached.size - 1, reached.last._1))
        else if (first == 0 && from > 0) Left(Forgotten(from, reached.head._1))
        else Right(from + first)
      assert(search(from, reached).complete(millis(at)) === expected)
    }
  }

  test("before is the last batch that has read nothing later than the time") {
    forAll(histories, Gen.choose(-1L, 40L)) { case ((from, reached), at) =>
      val last = reached.lastIndexWhere(_._2.forall(_ < at))
      val expected = if (last < 0) Left(Forgotten(from, reached.head._2)) else Right(from + last)
      assert(search(from, reached).before(millis(at)) === expected)
    }
  }

  test("a time is searched for after the correction that took the input back, or before it") {
    // Batch 2 has read a row of the far future, and the entry of batch 4 was corrected.
    val reached = Seq(10L, 11L, 900L, 900L, 12L, 13L, 14L)
    val all =
      new CutSearch(
        reached.indices.map(_.toLong),
        n => Some(Reached(Some(reached(n.toInt)), Some(reached(n.toInt)))),
        Seq(4))
    assert(all.complete(millis(11)) === Right(1))
    assert(all.complete(millis(13)) === Right(5))
    assert(all.complete(millis(15)) === Left(NotYet(6, Some(14L))))
    assert(all.before(millis(12) - 1) === Right(1))
    assert(all.before(millis(14)) === Right(5))
    assert(all.before(millis(100)) === Right(6))
  }

  test("a time in microseconds is never rounded in favor of a batch") {
    val all = search(0, Seq(Some(10L) -> Some(20L), Some(11L) -> Some(21L)))
    assert(all.complete(10000L) === Right(0))
    assert(all.complete(10001L) === Right(1))
    // A row at 20.999 ms is known as 20 ms.
    assert(all.before(20998L) === Left(Forgotten(0, Some(20L))))
    assert(all.before(20999L) === Right(0))
  }

  test("before does not go past a batch without an entry") {
    val batches = IndexedSeq(3L, 4L, 6L, 7L)
    val all = new CutSearch(batches, batch => Some(Reached(Some(batch), Some(batch))))
    assert(all.before(millis(100)) === Right(4))
    assert(all.before(millis(4)) === Right(3))
    // Batch 5 may have advanced the watermark as far as batch 6 did. At batch 6 all rows have been read in any case.
    assert(all.complete(millis(6)) === Right(6))
  }

  test("before refuses an input whose earlier rows are unknown") {
    val all = new CutSearch(
      IndexedSeq(5L, 6L),
      Map(5L -> Seq(OriginState.reached(Watermark.At(50L))), 6L -> Seq(OriginState.reached(Watermark.At(60L)))).get(_)
        .flatMap(Reached.of))
    assert(all.before(millis(100)) === Left(Forgotten(5, None)))
    assert(all.complete(millis(60)) === Right(6))
  }

  test("before does not answer past batches that lack the input, however early the later ones are") {
    val all = new CutSearch(IndexedSeq(0L, 1L, 2L), batch => Option.when(batch > 0)(Reached(None, Some(5L))))
    assert(all.before(millis(100)) === Left(Forgotten(0, None)))
  }

  test("several inputs have reached the earliest watermark and the latest event time of all") {
    def at(millis: Long, delay: Long) = {
      val times = MaxEventTimes.whole(millis)
      OriginState(Splits.none.observe(times, delay, 0L, OnReturn.Hold), Some(millis))
    }
    assert(Reached.of(Seq(at(100L, 10L), at(50L, 0L))) === Some(Reached(Some(50L), Some(100L))))
    assert(Reached.of(Seq(at(100L, 10L), OriginState.initial)) === Some(Reached(None, Some(100L))))
    assert(Reached.of(Nil) === None)
  }
}
