package io.tidemark.core.memory

import scala.collection.immutable.TreeMap

import io.tidemark.core.Watermark
import io.tidemark.core.Watermark.{At, Idle, Unknown}

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class CarriedMinimaSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import CarriedMinimaSuite._

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200)

  private def ledger(width: Long, buckets: (Long, Vector[Option[Long]])*) = CarriedMinima(width, TreeMap.from(buckets))

  test("the oldest value of a column is found over all buckets") {
    val both = ledger(1, 10L -> Vector(Some(5L), None), 20L -> Vector(Some(3L), Some(9L)))
    assert(both.oldest(0).contains(3L))
    assert(both.oldest(1).contains(9L))
    assert(both.oldest(2).isEmpty)
    assert(CarriedMinima.empty.oldest(0).isEmpty)
  }

  test("adding a ledger keeps the smallest value of each bucket and column") {
    val before = ledger(1, 10L -> Vector(Some(5L), None))
    val more = ledger(1, 10L -> Vector(Some(7L), Some(1L)), 30L -> Vector(None, Some(2L)))
    assert(before.add(more) == ledger(1, 10L -> Vector(Some(5L), Some(1L)), 30L -> Vector(None, Some(2L))))
  }

  test("adding an empty ledger changes nothing") {
    val some = ledger(1000, 2000L -> Vector(Some(5L)))
    assert(some.add(CarriedMinima.empty) == some)
    assert(CarriedMinima.empty.add(some) == some)
  }

  test("a bucket is removed when eviction has reached its end, and not before") {
    val some = ledger(10, 20L -> Vector(Some(5L)), 30L -> Vector(Some(6L)))
    assert(some.evict(At(19)) == some)
    assert(some.evict(At(20)) == ledger(10, 30L -> Vector(Some(6L))))
    assert(some.evict(At(30)).buckets.isEmpty)
  }

  test("a watermark without a time removes no bucket") {
    val some = ledger(10, 20L -> Vector(Some(5L)))
    assert(some.evict(Unknown) == some)
    assert(some.evict(Idle(None)) == some)
  }

  test("a time belongs to the bucket that ends at that time or next after it") {
    assert(Seq(-11L, -10L, -9L, 0L, 1L, 10L, 11L).map(CarriedMinima.bucketEnd(_, 10)) ==
      Seq(-10, -10, 0, 0, 10, 10, 20))
    forAll { (time: Int, width: Byte) =>
      val wide = math.max(1, width.toLong)
      val end = CarriedMinima.bucketEnd(time.toLong, wide)
      assert(end >= time && end - time < wide && end % wide == 0)
    }
  }

  test("adding ledgers of different bucket widths uses the larger width") {
    val fine = ledger(1, 11L -> Vector(Some(5L)), 19L -> Vector(Some(4L)), 20L -> Vector(Some(6L)))
    val coarse = ledger(10, 20L -> Vector(Some(7L)))
    assert(fine.add(coarse) == ledger(10, 20L -> Vector(Some(4L))))
    assert(coarse.add(fine) == fine.add(coarse))
  }

  test("neighboring buckets are merged above the maximum number of buckets, and no value is lost") {
    val many = ledger(1, (1L to CarriedMinima.MaxBuckets + 1L).map(t => t -> Vector(Option(t))): _*)
    val bounded = CarriedMinima.empty.add(many)
    assert(bounded.widthMillis == 2)
    assert(bounded.buckets.size == CarriedMinima.MaxBuckets / 2 + 1)
    assert(bounded.oldest(0).contains(1L))
    assert(bounded.evict(At(3)).oldest(0).contains(3L))
    assert(bounded.evict(At(4)).oldest(0).contains(5L))
  }

  test("buckets that are far apart are merged until their number is within the maximum") {
    val ends = (0L to CarriedMinima.MaxBuckets.toLong).map(_ * 86400000L)
    val bounded = CarriedMinima.empty.add(ledger(1, ends.map(t => t -> Vector(Option(t))): _*))
    assert(bounded.buckets.size <= CarriedMinima.MaxBuckets)
    assert(ends.forall(t => bounded.evict(At(t - 1)).oldest(0).exists(_ <= t)))
  }

  private val time = Gen.choose(-60L, 60L)
  private val batches = Gen.listOf(
    Gen
      .zip(Gen.listOf(Gen.zip(time, Gen.option(time))), Gen.frequency(1 -> Gen.const(Unknown), 4 -> time.map(At(_))))
      .map { case (rows, upTo) => Batch(rows, upTo) })

  private def noted(rows: Seq[(Long, Option[Long])], width: Long): CarriedMinima =
    rows.foldLeft(CarriedMinima(width, TreeMap.empty)) { case (all, (active, value)) =>
      all.add(ledger(width, CarriedMinima.bucketEnd(active, width) -> Vector(value)))
    }

  /** What the ledger and a list of all rows say is the oldest, after each batch. */
  private def oldest(all: Seq[Batch], widths: Int => Long): Seq[(Option[Long], Option[Long])] = {
    val none = (CarriedMinima.empty, Seq.empty[(Long, Option[Long])])
    val states = all.zipWithIndex.scanLeft(none) { case ((ledger, rows), (batch, n)) =>
      val inState = (rows ++ batch.rows).filter { case (active, _) => batch.evictUpTo.millis.forall(_ < active) }
      (ledger.add(noted(batch.rows, widths(n))).evict(batch.evictUpTo), inState)
    }
    states.map { case (ledger, rows) => (ledger.oldest(0), rows.flatMap(_._2).minOption) }
  }

  test("a ledger with buckets of one millisecond has the exact oldest value in state") {
    forAll(batches) { all =>
      oldest(all, _ => 1L).foreach { case (ledger, rows) => assert(ledger == rows) }
    }
  }

  test("the ledger is never later than the oldest value in state, whatever the bucket widths") {
    forAll(batches, Gen.listOfN(8, Gen.oneOf(1L, 2L, 7L, 10L, 64L))) { (all, widths) =>
      oldest(all, n => widths(n % widths.size)).foreach { case (ledger, rows) =>
        rows.foreach(oldest => assert(ledger.exists(_ <= oldest)))
      }
    }
  }
}

object CarriedMinimaSuite {

  /** A batch of rows (active time, carried value), and how far state is evicted at its end. */
  private final case class Batch(rows: Seq[(Long, Option[Long])], evictUpTo: Watermark)
}
