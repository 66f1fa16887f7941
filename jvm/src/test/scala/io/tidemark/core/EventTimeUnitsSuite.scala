package io.tidemark.core

import io.tidemark.core.EventTimeUnits._

import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class EventTimeUnitsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val ends =
    Seq(Long.MinValue, Long.MinValue + 1, -1001L, -1000L, -999L, -1L, 0L, 1L, 999L, 1000L, Long.MaxValue)
  private val times = Gen.oneOf(Arbitrary.arbitrary[Long], Gen.oneOf(ends), Gen.choose(-2000L, 2000L))

  test("a time in µs lies between its ms and the next one") {
    forAll(times) { micros =>
      assert(BigInt(millis(micros)) * 1000 <= micros && micros < (BigInt(millis(micros)) + 1) * 1000)
      assert(BigInt(millisFrom(micros)) * 1000 >= micros && micros > (BigInt(millisFrom(micros)) - 1) * 1000)
    }
  }

  test("a time in ms that µs cannot hold is the first or the last time in µs") {
    forAll(times) { millis =>
      val exact = BigInt(millis) * 1000
      assert(BigInt(micros(millis)) == exact.max(Long.MinValue).min(Long.MaxValue))
    }
  }

  test("times in µs keep the order of times in ms") {
    forAll(times, times)((a, b) => assert(a > b || micros(a) <= micros(b)))
  }

  test("a time that a timestamp cannot hold is held as its first or last one") {
    assert(held(Long.MaxValue) == MostMillis && held(Long.MinValue) == LeastMillis)
    forAll(times)(millis => assert(micros(held(millis)) / 1000L == held(millis)))
  }
}
