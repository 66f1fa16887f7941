package io.tidemark.core

/** How far event time has got at one place of a plan: a row with event time at or before it is late.
  *
  * The three cases are the whole algebra (no sentinel numbers):
  *   - [[Watermark.Unknown]]: an input that has never been heard. It absorbs: with it nothing can be promised.
  *   - [[Watermark.Idle]]: an input that is left out for now. It is neutral.
  *   - [[Watermark.At]]: a time in milliseconds since the epoch.
  *
  * [[Watermark.coalesce]] is associative and commutative, so the order of inputs never matters.
  */
sealed trait Watermark {

  /** The watermark of two inputs together: the minimum of those that are not idle. */
  final def coalesce(that: Watermark): Watermark = (this, that) match {
    case (Watermark.Idle, other) => other
    case (other, Watermark.Idle) => other
    case (Watermark.At(a), Watermark.At(b)) => Watermark.At(math.min(a, b))
    case _ => Watermark.Unknown
  }

  /** The later of the two, for places whose watermark must never go back; `Unknown` and `Idle` add nothing. */
  final def orLater(that: Watermark): Watermark = (this, that) match {
    case (Watermark.At(a), Watermark.At(b)) => Watermark.At(math.max(a, b))
    case (at: Watermark.At, _) => at
    case (_, at: Watermark.At) => at
    case (Watermark.Idle, Watermark.Idle) => Watermark.Idle
    case _ => Watermark.Unknown
  }

  /** This watermark moved by a constant, as a time range of a join moves it. */
  final def plus(offsetMillis: Long): Watermark = this match {
    case Watermark.At(millis) => Watermark.At(millis + offsetMillis)
    case other => other
  }

  /** What Spark's operators are given: undefined is 0 there, and no watermark is before the epoch. */
  final def sparkMillis: Long = this match {
    case Watermark.At(millis) => math.max(millis, 0L)
    case _ => 0L
  }

  /** The time, if there is one. */
  final def millis: Option[Long] = this match {
    case Watermark.At(value) => Some(value)
    case _ => None
  }
}

object Watermark {
  case object Unknown extends Watermark
  case object Idle extends Watermark
  final case class At(value: Long) extends Watermark

  def of(millis: Option[Long]): Watermark = millis.fold[Watermark](Unknown)(At(_))
}
