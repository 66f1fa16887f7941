package org.apache.spark.sql.tidemark.exec.clocks

import scala.util.chaining._

import io.tidemark.TidemarkException
import io.tidemark.core.splits.{MaxEventTimes, SplitNameTable}

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.Refusals
import org.apache.spark.unsafe.types.UTF8String

/** What tasks bring to the driver. */
class SplitAccumulatorSuite extends AnyFunSuite with Refusals {

  test("a task that runs twice is counted once") {
    val times = MaxEventTimes.whole(50)
    val total = new SplitAccumulator(10)
    val (first, second) = (total.copy(), total.copy())
    first.add(times, partition = 3, rowsFarAhead = 2)
    second.add(times, partition = 3, rowsFarAhead = 2)
    val other = total.copy()
    // One task may have several partitions of the input.
    other.add(times, partition = 4, rowsFarAhead = 1)
    other.add(times, partition = 4, rowsFarAhead = 3)
    Seq(first, second, other).foreach(total.merge)
    assert(total.farAheadRows === 6)
    assert((total.value.size, total.value(0)) === ((1, 50L)))
  }

  test("the core reads the split names that tasks write, whatever their length") {
    val buffer = new NameBuffer
    for (length <- Seq(0, 1, 126, 127, 128, 5000, 10000000)) {
      val text = "\u00e9" * (length / 2) + "x" * (length % 2)
      buffer.clear()
      buffer.add(UTF8String.fromString(text))
      buffer.addNull()
      buffer.add(UTF8String.fromString("b"))
      val name = java.util.Arrays.copyOf(buffer.bytes, buffer.length)
      assert(name.sameElements(SplitNameTable.encode(Seq(Some(text), None, Some("b")))), length)
    }
  }

  test("split names that are too long together are refused with the column's name, in a task or on the driver") {
    def named(name: String) = {
      val times = new MaxEventTimes(new SplitNameTable(most = 8))
      times.observe(SplitNameTable.encode(Seq(Some(name))), 1L)
      times
    }
    val driver = new SplitAccumulator(100)
    driver.merge(task(named("abcd")))
    assert(driver.whole("time").size === 1)
    val both = task(named("efgh"))
    both.add(named("ijkl"))
    for (full <- Seq(both, both.copy())) {
      val total = driver.copy()
      total.merge(full)
      assertRefused("TOO_MANY_SPLITS", "column" -> "time")(total.whole("time"))
      total.reset()
      assert(total.isZero && total.whole("time").isEmpty)
    }
    // The names are too long only together with those of other tasks.
    driver.merge(task(named("efgh")))
    intercept[TidemarkException](driver.whole("time"))
  }

  test("times that have been read do not change when one more task ends, and tasks do not change each other") {
    def named(name: String) = MaxEventTimes.whole(1L).copy().tap(_.observe(SplitNameTable.encode(Seq(Some(name))), 7L))
    val driver = new SplitAccumulator(100)
    val tasks = Seq("a", "b", "c", "d").map(name => task(named(name)))
    tasks.take(3).foreach(driver.merge)
    val read = driver.whole("time")
    val copy = driver.copy()
    driver.merge(tasks.last)
    assert((read.size, driver.whole("time").size, copy.value.size) === ((4, 5, 4)))
    assert(tasks.forall(_.value.size == 2))
  }

  private def task(times: MaxEventTimes): SplitAccumulator = {
    val seen = new SplitAccumulator(100)
    seen.add(times)
    seen
  }
}
