package io.tidemark.core.plan

import io.tidemark.core.{OriginName, Watermark}

/** What one batch uses: everything that [[Propagation]] needs beside the plan.
  *
  * @param origins each origin's watermark
  * @param floors what operators had already reached
  */
final case class Decision(origins: Map[OriginName, Watermark], floors: Floors = Floors.none) {
  def origin(name: OriginName): Watermark = origins.getOrElse(name, Watermark.Unknown)

  /** The watermark of the query as Spark's own logs keep it: the minimum over the origins. */
  def least(names: Iterable[OriginName]): Watermark =
    names.map(origin).reduceOption(_ coalesce _).getOrElse(Watermark.Unknown)
}

object Decision {
  val none: Decision = Decision(Map.empty)

  /** Every origin at the watermark that Spark's log has for the whole query (none if that is still 0). */
  def floor(names: Iterable[OriginName], queryMillis: Long): Decision =
    if (queryMillis <= 0) none
    else none.copy(origins = names.map(_ -> (Watermark.At(queryMillis): Watermark)).toMap)
}
