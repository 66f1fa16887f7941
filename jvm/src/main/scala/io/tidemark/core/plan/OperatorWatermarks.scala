package io.tidemark.core.plan

import io.tidemark.core.{Input, OperatorId, Side, UnionSlot, Watermark}

/** The watermarks that one input of a stateful operator works with.
  *
  * @param input watermark of the active column: next batch's late rows are judged by it
  * @param evicted how far the state of this input is closed; the same as `input` but for joins
  * @param carried watermarks of the carried columns as they come in
  * @param closes whether rows leave the state by the time of the active column, so that a ledger tells what is in it
  * @param floored whether it goes by others while an input is idle, and so may not go back when that one returns
  */
final case class InputWatermarks(
    input: AttributedWatermark,
    evicted: Option[AttributedWatermark],
    carried: Seq[AttributedWatermark],
    closes: Boolean,
    floored: Boolean = false) {
  def keepsLedger: Boolean = closes && carried.nonEmpty
}

/** Every stateful operator's watermarks in one batch, the unions' results, and the whole plan as it was seen. */
final case class OperatorWatermarks(
    inputs: Map[Input, InputWatermarks],
    unions: Map[UnionSlot, Watermark],
    flow: PropagatedNode) {

  /** The one number by which Spark asks whether an operator's watermark has grown: it grows when any input's does. */
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

/** A plan node with what flows out of it. */
final case class PropagatedNode(shape: PlanShape, out: Edge, inputs: Seq[PropagatedNode]) {

  /** What flows out of a node of the plan that this was made from. */
  def outOf(node: PlanShape): Edge = find(node).getOrElse(throw new NoSuchElementException(node.label)).out

  private def find(node: PlanShape): Option[PropagatedNode] =
    if (shape eq node) Some(this) else inputs.iterator.flatMap(_.find(node)).nextOption()
}

/** A watermark would have gone back: a defect, never a state of the world. Times in ms since the epoch. */
final class WentBack(val input: Input, val what: String, val before: Long, val now: Long)
    extends IllegalStateException(
      s"the $what watermark of operator ${input.operator.value} (${input.side}) would go back from $before to $now")
