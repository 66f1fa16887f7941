package io.tidemark.core.plan

import io.tidemark.core.{Input, OperatorId, Watermark}
import io.tidemark.core.support.Plans

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class OperatorWatermarksSuite extends AnyFunSuite {
  private val nowhere = PropagatedNode(PlanShape.Source("files"), Edge.empty, Nil)

  private def held(watermark: Watermark) = AttributedWatermark(watermark, None)
  private def levels(inputs: (Input, InputWatermarks)*) = OperatorWatermarks(inputs.toMap, Map.empty, nowhere)
  private def input(at: Watermark, evicted: Option[Watermark]) =
    InputWatermarks(held(at), evicted.map(held), Nil, closes = true)

  test("an operator that is not in the plan has no progress") {
    assert(levels().progress(OperatorId(0)).isEmpty)
  }

  test("a join's progress grows when either side's watermark advances") {
    def progress(l: Long, r: Long): Long =
      levels(left(3) -> input(at(l), None), right(3) -> input(at(r), None)).progress(OperatorId(3)).get
    assert(progress(10, 21) > progress(10, 20))
    assert(progress(11, 20) > progress(10, 20))
  }

  test("the progress of an operator with one input is its watermark") {
    assert(levels(left(3) -> input(at(10), Some(at(10)))).progress(OperatorId(3)).contains(10L))
    assert(levels(left(3) -> input(Watermark.Unknown, None)).progress(OperatorId(3)).contains(0L))
  }

  test("an input watermark that goes back is an error that names the operator, the side and both times") {
    val before = levels(left(1) -> input(at(10), None), right(1) -> input(at(50), None))
    val after = levels(left(1) -> input(at(10), None), right(1) -> input(at(40), None))
    val error = intercept[WentBack](after.requireNotBefore(before))
    assert(error.input == right(1))
    assert((error.before, error.now) == ((50L, 40L)))
    assert(error.getMessage == "the input watermark of operator 1 (Right) would go back from 50 to 40")
  }

  test("a state watermark that goes back is an error") {
    val before = levels(left(1) -> input(at(10), Some(at(9))))
    val error = intercept[WentBack](levels(left(1) -> input(at(10), Some(at(8)))).requireNotBefore(before))
    assert(error.what == "state")
  }

  test("a watermark that stands still, advances or is new is not an error") {
    val before = levels(left(1) -> input(at(10), Some(at(9))))
    before.requireNotBefore(before)
    levels(left(1) -> input(at(11), Some(at(12)))).requireNotBefore(before)
    before.requireNotBefore(levels(left(1) -> input(Watermark.Unknown, Some(Watermark.Unknown))))
    before.requireNotBefore(levels())
  }

  test("a watermark before 1970 is not behind an unknown watermark, because both are 0 in Spark") {
    levels(left(1) -> input(at(-5), None)).requireNotBefore(levels(left(1) -> input(Watermark.Unknown, None)))
  }
}
