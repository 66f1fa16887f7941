package io.tidemark.core

import Watermark._
import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class WatermarkSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  // Small numbers meet each other often, the ends of time must not overflow into each other.
  private val times = Gen.oneOf(Gen.choose(-3L, 3L), Arbitrary.arbitrary[Long], Gen.oneOf(Long.MinValue, Long.MaxValue))
  implicit private val anyWatermark: Arbitrary[Watermark] =
    Arbitrary(Gen.frequency(1 -> Gen.const(Unknown), 1 -> Gen.const(Idle), 4 -> times.map(At(_))))

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
    forAll((a: Watermark) => assert(a.coalesce(Idle) == a))
  }

  test("an input never heard of holds all others that are not idle") {
    forAll((a: Watermark) => assert(a.coalesce(Unknown) == Unknown))
  }

  test("two times coalesce to the earlier one") {
    forAll { (a: Long, b: Long) => assert(At(a).coalesce(At(b)) == At(math.min(a, b))) }
  }

  test("orLater is associative, commutative and idempotent") {
    forAll { (a: Watermark, b: Watermark, c: Watermark) =>
      assert(a.orLater(b).orLater(c) == a.orLater(b.orLater(c)))
      assert(a.orLater(b) == b.orLater(a))
      assert(a.orLater(a) == a)
    }
  }

  test("orLater is never before either of the two") {
    forAll { (a: Watermark, b: Watermark) =>
      assert(a.orLater(b).millis == (a.millis ++ b.millis).maxOption)
    }
  }

  test("orLater is monotone") {
    forAll { (a: Long, b: Long, floor: Watermark) =>
      val (low, high) = (math.min(a, b), math.max(a, b))
      assert(At(low).orLater(floor).millis.get <= At(high).orLater(floor).millis.get)
    }
  }

  test("unknown and idle add nothing to a time") {
    forAll { (time: Long) =>
      assert(At(time).orLater(Unknown) == At(time))
      assert(At(time).orLater(Idle) == At(time))
    }
    assert(Unknown.orLater(Idle) == Unknown)
  }

  test("plus moves a time and nothing else") {
    forAll { (time: Int, offset: Int) => assert(At(time.toLong).plus(offset.toLong) == At(time.toLong + offset)) }
    assert(Unknown.plus(1) == Unknown)
    assert(Idle.plus(1) == Idle)
  }

  test("moving inputs by a constant moves what they coalesce to") {
    val near = Gen.oneOf[Watermark](Unknown, Idle, At(-5), At(0), At(7))
    forAll(near, near, Gen.choose(-9L, 9L)) { (a, b, offset) =>
      assert(a.coalesce(b).plus(offset) == a.plus(offset).coalesce(b.plus(offset)))
    }
  }

  test("Spark is told 0 where nothing is known and before the epoch") {
    assert(Unknown.sparkMillis == 0)
    assert(Idle.sparkMillis == 0)
    assert(At(-1).sparkMillis == 0)
    assert(At(1).sparkMillis == 1)
  }

  test("an optional time is a watermark and back") {
    assert(Watermark.of(None) == Unknown)
    assert(Watermark.of(Some(5)) == At(5))
    forAll((time: Option[Long]) => assert(Watermark.of(time).millis == time))
  }
}
