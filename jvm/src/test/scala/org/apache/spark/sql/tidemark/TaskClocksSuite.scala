package org.apache.spark.sql.tidemark

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** The tables behind a task's clocks, beside a map that is plainly right. */
class TaskClocksSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def factory(kind: DataType) =
    TaskClocks.Factory(new SplitAccumulator(1 << 20), "time", Array(kind), SplitClocksExec.Unlimited)

  // Few keys come often, many come once; some differ only in their upper bits, and some are an empty place's own values.
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

  test("numbers keep the largest time of each") {
    forAll(rows(number), minSuccessful(20)) { rows =>
      val clocks = new LongClocks(factory(LongType))
      rows.foreach { case (key, millis) => clocks.note(key, millis) }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[Long, Long]
      clocks.foreach((key, millis) => assert(found.put(key, millis).isEmpty))
      assert(found.toMap == largest(rows))
    }
  }

  test("texts keep the largest time of each") {
    forAll(rows(text), minSuccessful(20)) { rows =>
      val clocks = new ByteClocks(factory(StringType))
      rows.foreach { case (key, millis) => clocks.note(UTF8String.fromString(key), millis) }
      assert(clocks.isEmpty == rows.isEmpty)
      val found = mutable.Map.empty[String, Long]
      clocks.foreach((number, millis) => assert(found.put(clocks.text(number).toString, millis).isEmpty))
      assert(found.toMap == largest(rows))
    }
  }
}
