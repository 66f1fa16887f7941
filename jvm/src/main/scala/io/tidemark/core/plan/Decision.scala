package io.tidemark.core.plan

import io.tidemark.core.{CarriedSlot, Input, OriginName, UnionSlot, Watermark}

/** What one batch works with: all that [[Propagation]] needs beside the plan.
  *
  * @param origins each origin's watermark
  * @param unionFloors what each union's column had already reached
  * @param carried the watermark of each carried column as it leaves its operator
  * @param inputFloors what inputs of operators had already reached that go by others while one is idle
  */
final case class Decision(
    origins: Map[OriginName, Watermark],
    unionFloors: Map[UnionSlot, Watermark],
    carried: Map[CarriedSlot, Watermark],
    inputFloors: Map[Input, Watermark] = Map.empty) {
  def origin(name: OriginName): Watermark = origins.getOrElse(name, Watermark.Unknown)
  def unionFloor(slot: UnionSlot): Watermark = unionFloors.getOrElse(slot, Watermark.Unknown)
  def inputFloor(input: Input): Watermark = inputFloors.getOrElse(input, Watermark.Unknown)
  def carriedColumn(slot: CarriedSlot): Watermark = carried.getOrElse(slot, Watermark.Unknown)

  /** The watermark of the query as Spark's own logs keep it: the minimum over the origins. */
  def least(names: Iterable[OriginName]): Watermark =
    names.map(origin).reduceOption(_ coalesce _).getOrElse(Watermark.Unknown)
}

object Decision {
  val none: Decision = Decision(Map.empty, Map.empty, Map.empty)

  /** Every origin at the watermark that Spark's log has for the whole query (none if that is still 0). */
  def floor(names: Iterable[OriginName], queryMillis: Long): Decision =
    if (queryMillis <= 0) none
    else none.copy(origins = names.map(_ -> (Watermark.At(queryMillis): Watermark)).toMap)
}
