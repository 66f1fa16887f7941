package io.tidemark.core.plan

import io.tidemark.core.Watermark
import io.tidemark.core.support.Plans

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class AttributedWatermarkSuite extends AnyFunSuite {
  private val fast = AttributedWatermark(at(50), Some(named("fast")))
  private val slow = AttributedWatermark(at(20), Some(named("slow")))
  private val silent = AttributedWatermark(Watermark.Idle(None), Some(named("silent")))
  private val unknown = AttributedWatermark(Watermark.Unknown, Some(named("unknown")))

  test("the input with the lowest watermark holds the others back, in any order") {
    assert(fast.coalesce(slow) == slow)
    assert(slow.coalesce(fast) == slow)
    assert(AttributedWatermark.least(Seq(fast, slow, silent)).contains(slow))
  }

  test("an idle input holds no other input back") {
    assert(silent.coalesce(fast) == fast)
    assert(fast.coalesce(silent) == fast)
  }

  test("an input without a watermark yet holds all others back") {
    assert(AttributedWatermark.least(Seq(slow, unknown, silent)).contains(unknown))
  }

  test("the first of several equal inputs is named as the holder") {
    val same = AttributedWatermark(at(20), Some(named("same")))
    assert(slow.coalesce(same) == slow)
    assert(same.coalesce(slow) == same)
  }

  test("a floor raises the watermark and keeps the holder") {
    assert(slow.atLeast(at(30)) == slow.copy(watermark = at(30)))
    assert(slow.atLeast(at(10)) == slow)
    assert(slow.atLeast(Watermark.Unknown) == slow)
  }

  test("adding a constant moves the watermark and keeps the holder") {
    assert(slow.plus(-5) == slow.copy(watermark = at(15)))
  }

  test("an empty list of inputs has no minimum") {
    assert(AttributedWatermark.least(Nil).isEmpty)
  }

  test("a column that is not on an edge has the minimum watermark of that edge") {
    val edge = Edge(Map(col(1) -> fast), Some(slow))
    assert(edge.column(col(1)) == fast)
    assert(edge.column(col(2)) == slow)
    assert(Edge.empty.column(col(1)) == AttributedWatermark.unknown)
  }
}
