package io.tidemark.core

import io.tidemark.core.Watermark._

import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class WatermarkSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  // Small numbers are often equal, and the smallest and largest times must not overflow.
  private val times = Gen.oneOf(Gen.choose(-3L, 3L), Arbitrary.arbitrary[Long], Gen.oneOf(Long.MinValue, Long.MaxValue))
  implicit private val anyWatermark: Arbitrary[Watermark] =
    Arbitrary(Gen.frequency(1 -> Gen.const(Unknown), 2 -> Gen.option(times).map(Idle(_)), 4 -> times.map(At(_))))

  test("coalesce is associative") {
    forAll { (a: Watermark, b: Watermark, c: Watermark) =>
      assert(a.coalesce(b).coalesce(c) == a.coalesce(b.coalesce(c)))
    }
  }

  test("coalesce is commutative and idempotent") {
    forAll { (a: Watermark, b: Watermark) =>
      assert(a.coalesce(b) == b.coalesce(a))
      assert(a.coalesce(a) == a)
    }
  }

  test("an idle input is left out of coalesce") {
    forAll((a: Watermark, reached: Option[Long]) => assert(a.isIdle || a.coalesce(Idle(reached)) == a))
  }

  test("idle inputs coalesce to an idle watermark at the largest of their times") {
    forAll { (a: Option[Long], b: Option[Long]) =>
      assert(Idle(a).coalesce(Idle(b)) == Idle((a ++ b).maxOption))
    }
  }

  test("what Spark gets can be told in µs") {
    forAll((a: Watermark) => assert(a.sparkMillis >= 0 && Math.multiplyExact(a.sparkMillis, 1000L) >= 0))
  }

  test("an unknown watermark coalesces with any other to an unknown watermark") {
    forAll((a: Watermark) => assert(a.coalesce(Unknown) == Unknown))
  }

  test("two times coalesce to the earlier one") {
    forAll { (a: Long, b: Long) => assert(At(a).coalesce(At(b)) == At(math.min(a, b))) }
  }

  test("atLeast is associative and idempotent") {
    forAll { (a: Watermark, b: Watermark, c: Watermark) =>
      assert(a.atLeast(b).atLeast(c) == a.atLeast(b.atLeast(c)))
      assert(a.atLeast(a) == a)
    }
  }

  test("atLeast gives the later of the two times and is idle if the first watermark is") {
    forAll { (a: Watermark, b: Watermark) =>
      assert(a.atLeast(b).millis == (a.millis ++ b.millis).maxOption)
      assert(a.atLeast(b).isIdle == a.isIdle)
    }
  }

  test("atLeast is monotone") {
    forAll { (a: Long, b: Long, floor: Watermark) =>
      val (low, high) = (math.min(a, b), math.max(a, b))
      assert(At(low).atLeast(floor).millis.get <= At(high).atLeast(floor).millis.get)
    }
  }

  test("plus moves a time and nothing else") {
    forAll { (time: Int, offset: Int) => assert(At(time.toLong).plus(offset.toLong) == At(time.toLong + offset)) }
    assert(Unknown.plus(1) == Unknown)
    assert(Idle(None).plus(1) == Idle(None))
    assert(Idle(Some(4)).plus(1) == Idle(Some(5)))
  }

  test("moving all inputs by a constant moves the coalesced watermark by that constant") {
    val near = Gen.oneOf[Watermark](Unknown, Idle(None), Idle(Some(3)), At(-5), At(0), At(7))
    forAll(near, near, Gen.choose(-9L, 9L)) { (a, b, offset) =>
      assert(a.coalesce(b).plus(offset) == a.plus(offset).coalesce(b.plus(offset)))
    }
  }

  test("Spark receives 0 for an unknown watermark and for a time before 1970") {
    assert(Unknown.sparkMillis == 0)
    assert(Idle(None).sparkMillis == 0)
    assert(Idle(Some(1)).sparkMillis == 1)
    assert(At(-1).sparkMillis == 0)
    assert(At(1).sparkMillis == 1)
  }

  test("an optional time is converted to a watermark and back") {
    assert(Watermark.of(None) == Unknown)
    assert(Watermark.of(Some(5)) == At(5))
    forAll((time: Option[Long]) => assert(Watermark.of(time).millis == time))
  }
}
