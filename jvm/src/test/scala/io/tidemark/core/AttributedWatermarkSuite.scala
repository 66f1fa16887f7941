package io.tidemark.core

import io.tidemark.core.plan.{AttributedWatermark, Edge}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class AttributedWatermarkSuite extends AnyFunSuite {
  private val fast = AttributedWatermark(at(50), Some(named("fast")))
  private val slow = AttributedWatermark(at(20), Some(named("slow")))
  private val silent = AttributedWatermark(Watermark.Idle(None), Some(named("silent")))
  private val unheard = AttributedWatermark(Watermark.Unknown, Some(named("unheard")))

  test("the input that is the minimum holds the others back, wherever it stands") {
    assert(fast.coalesce(slow) == slow)
    assert(slow.coalesce(fast) == slow)
    assert(AttributedWatermark.least(Seq(fast, slow, silent)).contains(slow))
  }

  test("an idle input holds nobody back") {
    assert(silent.coalesce(fast) == fast)
    assert(fast.coalesce(silent) == fast)
  }

  test("an input never heard of holds all others") {
    assert(AttributedWatermark.least(Seq(slow, unheard, silent)).contains(unheard))
  }

  test("of equal inputs the first is named") {
    val same = AttributedWatermark(at(20), Some(named("same")))
    assert(slow.coalesce(same) == slow)
    assert(same.coalesce(slow) == same)
  }

  test("a floor raises the watermark and leaves the holder") {
    assert(slow.atLeast(at(30)) == slow.copy(watermark = at(30)))
    assert(slow.atLeast(at(10)) == slow)
    assert(slow.atLeast(Watermark.Unknown) == slow)
  }

  test("a constant moves the watermark and leaves the holder") {
    assert(slow.plus(-5) == slow.copy(watermark = at(15)))
  }

  test("no inputs have no minimum") {
    assert(AttributedWatermark.least(Nil).isEmpty)
  }

  test("a column that is not on an edge is as far as everything there") {
    val edge = Edge(Map(col(1) -> fast), Some(slow))
    assert(edge.column(col(1)) == fast)
    assert(edge.column(col(2)) == slow)
    assert(Edge.empty.column(col(1)) == AttributedWatermark.unknown)
  }
}
