package org.apache.spark.sql.tidemark

import scala.collection.mutable

import io.tidemark.core.bytes.KeyedHash

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import org.apache.spark.sql.tidemark.exec.clocks.{BytesKeyMaxima, ClockLimits, KeyBytes, LongKeyMaxima}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** The tables behind a task's clocks, beside a map that is plainly right. */
class TaskClocksSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  // Few keys occur often and many once; some differ only in their upper bits, and some equal an empty place's value.
  private val number = Gen.frequency(
    4 -> Gen.choose(-3L, 3L),
    4 -> Gen.choose(0L, 5000L),
    2 -> Gen.choose(0L, 1000L).map(_ << 40),
    1 -> Gen.oneOf(Long.MinValue, Long.MaxValue, 0L))
  private val text = Gen.frequency(
    4 -> Gen.oneOf("", "a", "b"),
    4 -> Gen.choose(0, 20000).map(n => s"device-$n"),
    1 -> Gen.choose(0, 3000).map("x" * _))
  private def rows[K](key: Gen[K]) =
    Gen.choose(0, 20000).flatMap(Gen.listOfN(_, Gen.zip(key, Gen.choose(-1000L, 1000000L))))

  private def largest[K](rows: Seq[(K, Long)]): Map[K, Long] = rows.groupMapReduce(_._1)(_._2)(math.max)

  test("a table of numeric keys keeps the largest time of each key") {
    forAll(rows(number), minSuccessful(20)) { rows =>
      val clocks = new LongKeyMaxima(ClockLimits.Unlimited, "time")
      rows.foreach { case (key, millis) => clocks.note(key, millis) }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[Long, Long]
      clocks.foreach((key, millis) => assert(found.put(key, millis).isEmpty))
      assert(found.toMap == largest(rows))
    }
  }

  test("a table of text keys keeps the largest time of each key") {
    forAll(rows(text), minSuccessful(20)) { rows =>
      val clocks = new BytesKeyMaxima(ClockLimits.Unlimited, "time")
      rows.foreach { case (key, millis) => clocks.note(UTF8String.fromString(key), millis) }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[String, Long]
      clocks.foreach((number, millis) => assert(found.put(clocks.text(number).toString, millis).isEmpty))
      assert(found.toMap == largest(rows))
    }
  }

  private val many = 1 << 16

  /** How many of twice as many places are taken: about 0.8 of the number of keys, where they are taken at random. */
  private def places(hashes: Seq[Int]): Int = hashes.map(_ >>> 15).distinct.size

  test("numbers that collide in Fibonacci hashing are spread over the table") {
    // Each number times the multiplier, which is odd, is one of the smallest numbers.
    val inverse = BigInt(0x9e3779b97f4a7c15L).modInverse(BigInt(1) << 64).toLong
    val hashes = (0 until many).map(n => (KeyedHash.of(n * inverse) >>> 32).toInt)
    assert(places(hashes) > 0.7 * many)
  }

  test("keys whose words cancel each other out in an unkeyed hash are spread over the table") {
    val multiplier = 0x9e3779b97f4a7c15L
    val keys = (0 until many).map { n =>
      val known = 16L ^ n
      Array(n.toLong, Math.multiplyHigh(known, multiplier) ^ known * multiplier)
    }
    val hashes = keys.map(words => KeyBytes.hash(words, Platform.LONG_ARRAY_OFFSET.toLong, 16))
    assert(places(hashes) > 0.7 * many)
    assert(places(hashes.map(Integer.reverse)) > 0.7 * many)
  }
}
