package io.tidemark.core.plan

import io.tidemark.core.{Input, OperatorId, Side, UnionSlot, Watermark}

/** The watermarks of one input of a stateful operator.
  *
  * @param input the watermark of the active column; it decides which rows of the next batch are late
  * @param evicted the watermark up to which the state of this input is evicted; only in joins it differs from `input`
  * @param carried the watermarks of the carried columns as they arrive
  * @param closes whether rows leave the state by the active column's time, so that the smallest carried values tell
  *   what is still in it
  * @param floored whether the input follows others while one is idle; its watermark must then not go back later
  */
final case class InputWatermarks(
    input: AttributedWatermark,
    evicted: Option[AttributedWatermark],
    carried: Seq[AttributedWatermark],
    closes: Boolean,
    floored: Boolean = false) {
  def keepsLedger: Boolean = closes && carried.nonEmpty
}

/** Every stateful operator's watermarks in one batch, the results of unions, and the propagated plan. */
final case class OperatorWatermarks(
    inputs: Map[Input, InputWatermarks],
    unions: Map[UnionSlot, Watermark],
    root: PropagatedNode) {

  /** The one number by which Spark asks whether an operator's watermark has advanced: it grows if any input's does. */
  def progress(operator: OperatorId): Option[Long] = {
    val sides = Seq(Side.Left, Side.Right).flatMap(side => inputs.get(Input(operator, side)))
    if (sides.isEmpty) None else Some(sides.map(_.input.watermark.sparkMillis).sum)
  }

  /** Fails if any operator's watermark is before the one it had in `earlier`. */
  def requireNotBefore(earlier: OperatorWatermarks): Unit =
    inputs.foreach { case (input, now) =>
      earlier.inputs.get(input).foreach { before =>
        check(input, "input", before.input, now.input)
        for (b <- before.evicted; n <- now.evicted) check(input, "state", b, n)
      }
    }

  private def check(input: Input, what: String, before: AttributedWatermark, now: AttributedWatermark): Unit =
    if (now.watermark.sparkMillis < before.watermark.sparkMillis)
      throw new WentBack(input, what, before.watermark.sparkMillis, now.watermark.sparkMillis)
}

/** A plan node with the watermarks of its output. */
final case class PropagatedNode(shape: PlanShape, out: Edge, inputs: Seq[PropagatedNode]) {

  /** The watermarks of the output of a node of that plan. */
  def outOf(node: PlanShape): Edge = find(node).getOrElse(throw new NoSuchElementException(node.label)).out

  private def find(node: PlanShape): Option[PropagatedNode] =
    if (shape eq node) Some(this) else inputs.iterator.flatMap(_.find(node)).nextOption()
}

/** A watermark would have gone back, which is always a defect. Times are ms since the epoch. */
final class WentBack(val input: Input, val what: String, val before: Long, val now: Long)
    extends IllegalStateException(
      s"the $what watermark of operator ${input.operator.value} (${input.side}) would go back from $before to $now")
