package io.tidemark.core.plan

import io.tidemark.core.{CarriedSlot, Input, UnionSlot, Watermark}

/** What the operators of a plan have reached, beside the watermarks of the origins.
  *
  * @param unions the watermark of each union's columns, which does not go back
  * @param carried the watermark of each carried column as it leaves its operator
  * @param inputs the watermark of each operator's input that follows others while one is idle; it does not go back
  */
final case class Floors(
    unions: Map[UnionSlot, Watermark],
    carried: Map[CarriedSlot, Watermark],
    inputs: Map[Input, Watermark] = Map.empty) {
  def union(slot: UnionSlot): Watermark = unions.getOrElse(slot, Watermark.Unknown)
  def carriedColumn(slot: CarriedSlot): Watermark = carried.getOrElse(slot, Watermark.Unknown)
  def input(input: Input): Watermark = inputs.getOrElse(input, Watermark.Unknown)
}

object Floors {
  val none: Floors = Floors(Map.empty, Map.empty)
}
