package org.apache.spark.sql.tidemark.exec.clocks

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.Random

import io.tidemark.TidemarkException
import io.tidemark.core.bytes.KeyedHash

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import org.apache.spark.unsafe.Platform

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
    2 -> Gen.choose(0, 20000).map(n => s"device-of-the-building-$n"),
    1 -> Gen.choose(0, 40).map("x" * _),
    1 -> Gen.choose(0, 3000).map("x" * _))
  private def rows[K](key: Gen[K]) =
    Gen.choose(0, 20000).flatMap(Gen.listOfN(_, Gen.zip(key, Gen.choose(-1000L, 1000000L))))

  private def largest[K](rows: Seq[(K, Long)]): Map[K, Long] = rows.groupMapReduce(_._1)(_._2)(math.max)

  private val limits = ClockLimits.Unlimited

  test("a table of numeric keys keeps the largest time of each key") {
    forAll(rows(number), minSuccessful(20)) { rows =>
      val clocks = new LongKeyMaxima(limits, "time")
      rows.foreach { case (key, millis) => clocks.observe(key, millis) }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[Long, Long]
      clocks.foreach((key, millis) => assert(found.put(key, millis).isEmpty))
      assert(found.toMap == largest(rows))
    }
  }

  /** A text in the midst of other bytes, so that code that reads beyond its ends finds them. */
  private def inside(text: String): (Array[Byte], Long, Int) = {
    val bytes = text.getBytes(UTF_8)
    (
      Array.fill(8)(random.nextInt().toByte) ++ bytes ++ Array.fill(8)(random.nextInt().toByte),
      Platform.BYTE_ARRAY_OFFSET + 8L,
      bytes.length)
  }

  private val random = new Random(1)

  test("a table of short keys keeps the largest time of each key") {
    forAll(rows(text), minSuccessful(20)) { all =>
      val rows = all.filter(_._1.length <= KeyBytes.MostShort)
      val clocks = new ShortKeyMaxima(limits, "time")
      rows.foreach { case (key, millis) =>
        val (base, at, size) = inside(key)
        clocks.observe(KeyBytes.first(base, at, size), KeyBytes.second(base, at, size), millis)
      }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[String, Long]
      val bytes = new Array[Byte](KeyBytes.MostShort + 1)
      clocks.foreach { (first, second, millis) =>
        val size = KeyBytes.write(first, second, bytes)
        assert(found.put(new String(bytes, 0, size, UTF_8), millis).isEmpty)
      }
      assert(found.toMap == largest(rows))
    }
  }

  test("short keys of all sizes, with zeros in them or at their ends, are different keys") {
    val keys = for (size <- 0 to KeyBytes.MostShort; place <- -1 until size)
      yield Array.tabulate(size)(at => if (at == place) '\u00ff'.toByte else 0.toByte)
    val words = keys.map { key =>
      val at = Platform.BYTE_ARRAY_OFFSET.toLong
      (KeyBytes.first(key, at, key.length), KeyBytes.second(key, at, key.length))
    }
    assert(words.distinct.size === keys.size)
    keys.zip(words).foreach { case (key, (first, second)) =>
      val bytes = new Array[Byte](KeyBytes.MostShort + 1)
      assert(bytes.take(KeyBytes.write(first, second, bytes)).sameElements(key))
    }
  }

  test("a table of keys of any size keeps the largest time of each key") {
    forAll(rows(text), minSuccessful(20)) { rows =>
      val clocks = new BytesKeyMaxima(limits, "time")
      rows.foreach { case (key, millis) =>
        val (base, at, size) = inside(key)
        clocks.observe(base, at, size, millis)
      }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[String, Long]
      clocks.foreach((number, millis) => assert(found.put(clocks.text(number).toString, millis).isEmpty))
      assert(found.toMap == largest(rows))
    }
  }

  test("the tables keep the largest time where the rows of a split come together") {
    val runs = rows(Gen.choose(0, 9000)).map(_.flatMap { case (key, millis) =>
      Seq.fill(random.nextInt(4))(key -> (millis + random.nextInt(5) - 2))
    })
    forAll(runs, minSuccessful(10)) { rows =>
      val (numbers, texts) = (new LongKeyMaxima(limits, "time"), new BytesKeyMaxima(limits, "time"))
      rows.foreach { case (key, millis) =>
        numbers.observe(key.toLong, millis)
        val (base, at, size) = inside(s"a name of more than fifteen bytes $key")
        texts.observe(base, at, size, millis)
      }
      val found = mutable.Map.empty[Int, Long]
      numbers.foreach((key, millis) => assert(found.put(key.toInt, millis).isEmpty))
      val named = mutable.Map.empty[Int, Long]
      texts.foreach((at, millis) => assert(named.put(texts.text(at).toString.split(' ').last.toInt, millis).isEmpty))
      assert(found.toMap == largest(rows) && named.toMap == largest(rows))
    }
  }

  test("a task with more splits than allowed is stopped, with few splits and with many") {
    for (most <- Seq(0, 1, 100, 20000)) {
      val limited = ClockLimits(Long.MaxValue, most)
      val (numbers, shorts, others) =
        (new LongKeyMaxima(limited, "time"), new ShortKeyMaxima(limited, "time"), new BytesKeyMaxima(limited, "time"))
      val notes = Seq[Int => Unit](
        key => numbers.observe(key.toLong, 1L),
        key => shorts.observe(key.toLong, 1L, 1L),
        key => {
          val (base, at, size) = inside(s"a name of more than fifteen bytes $key")
          others.observe(base, at, size, 1L)
        })
      notes.foreach { note =>
        (0 until most).foreach(note)
        // Some rows wait before they are counted.
        val refused = intercept[TidemarkException]((most until most + 1000).foreach(note))
        assert(refused.error.code === "TOO_MANY_SPLITS")
      }
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
    val hashes = keys.map(KeyedHash.of(_, 0, 2).toInt)
    assert(places(hashes) > 0.7 * many)
    assert(places(hashes.map(Integer.reverse)) > 0.7 * many)
  }
}
