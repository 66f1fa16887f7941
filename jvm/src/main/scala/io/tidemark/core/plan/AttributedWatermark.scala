package io.tidemark.core.plan

import io.tidemark.core.{OriginName, Watermark}

/** A watermark together with the origin that holds it back. */
final case class AttributedWatermark(watermark: Watermark, by: Option[OriginName]) {

  /** Minimum of the inputs that are not idle; the holder is the input that is the minimum. */
  def coalesce(that: AttributedWatermark): AttributedWatermark = {
    val both = watermark.coalesce(that.watermark)
    if (both == watermark) this else if (both == that.watermark) that else AttributedWatermark(both, by.orElse(that.by))
  }

  /** The watermark that is behind, idle or not; an unknown one is behind all others. */
  def earlier(that: AttributedWatermark): AttributedWatermark =
    (watermark.millis, that.watermark.millis) match {
      case (Some(a), Some(b)) => if (a <= b) this else that
      case (None, _) => this
      case _ => that
    }

  /** The watermark of an input that an operator waits for although it is idle. */
  def active: AttributedWatermark = copy(watermark = watermark.active)

  /** This watermark, raised to `floor` if it is behind it. */
  def atLeast(floor: Watermark): AttributedWatermark = {
    val later = watermark.atLeast(floor)
    if (later == watermark) this else copy(watermark = later)
  }

  def plus(offsetMillis: Long): AttributedWatermark = copy(watermark = watermark.plus(offsetMillis))
}

object AttributedWatermark {
  val unknown: AttributedWatermark = AttributedWatermark(Watermark.Unknown, None)

  def least(all: Iterable[AttributedWatermark]): Option[AttributedWatermark] = all.reduceOption(_ coalesce _)
}
