package io.tidemark.core

/** A watermark together with the origin that holds it where it is. */
final case class Held(watermark: Watermark, by: Option[OriginName]) {

  /** Minimum of the inputs that are not idle; the holder is the input that is the minimum. */
  def coalesce(that: Held): Held = {
    val both = watermark.coalesce(that.watermark)
    if (both == watermark) this else if (both == that.watermark) that else Held(both, by.orElse(that.by))
  }

  /** The one that is behind, idle or not; one that was never heard is behind all others. */
  def earlier(that: Held): Held =
    (watermark.millis, that.watermark.millis) match {
      case (Some(a), Some(b)) => if (a <= b) this else that
      case (None, _) => this
      case _ => that
    }

  /** Of an input that is waited for although it is idle. */
  def active: Held = copy(watermark = watermark.active)

  /** Never before `floor`. */
  def atLeast(floor: Watermark): Held = {
    val later = watermark.atLeast(floor)
    if (later == watermark) this else copy(watermark = later)
  }

  def plus(offsetMillis: Long): Held = copy(watermark = watermark.plus(offsetMillis))
}

object Held {
  val unknown: Held = Held(Watermark.Unknown, None)

  def least(all: Iterable[Held]): Option[Held] = all.reduceOption(_ coalesce _)
}

/** What flows along an edge of the plan.
  *
  * @param columns the watermark of each event-time column that flows here
  * @param least the minimum of all that flowed in, read by operators whose input no longer has an event-time column;
  *   `None` where no origin is below
  */
final case class Edge(columns: Map[ColumnId, Held], least: Option[Held]) {
  def column(id: ColumnId): Held = columns.getOrElse(id, least.getOrElse(Held.unknown))
}

object Edge {
  val empty: Edge = Edge(Map.empty, None)
}
