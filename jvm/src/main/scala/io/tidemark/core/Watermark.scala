package io.tidemark.core

/** How far event time has advanced at one place of a plan: a row with event time at or before it is late.
  *
  * The three cases are the whole algebra (no sentinel numbers):
  *   - [[Watermark.Unknown]]: an input that never had rows. It absorbs: with it nothing can be promised.
  *   - [[Watermark.Idle]]: an input that is left out for now, with the time that it had reached. It is neutral.
  *   - [[Watermark.At]]: a time in ms since the epoch.
  *
  * [[Watermark.coalesce]] is associative and commutative, so the order of inputs never matters.
  */
sealed trait Watermark {

  /** The watermark of two inputs together: the minimum of those that are not idle. If both are idle, so is the result,
    * at the later of their times.
    */
  final def coalesce(that: Watermark): Watermark = (this, that) match {
    case (Watermark.Idle(a), Watermark.Idle(b)) => Watermark.Idle((a ++ b).maxOption)
    case (_: Watermark.Idle, other) => other
    case (other, _: Watermark.Idle) => other
    case (Watermark.At(a), Watermark.At(b)) => Watermark.At(math.min(a, b))
    case _ => Watermark.Unknown
  }

  /** This watermark, raised to `floor` if it is behind it. Idleness is preserved. */
  final def atLeast(floor: Watermark): Watermark = {
    val later = (millis ++ floor.millis).maxOption
    this match {
      case _: Watermark.Idle => Watermark.Idle(later)
      case _ => Watermark.of(later)
    }
  }

  /** The watermark that is ahead; an undefined one is behind all others. */
  final def later(that: Watermark): Watermark = Watermark.of((millis ++ that.millis).maxOption)

  /** The same time, for an input that an operator waits for although it is idle. */
  final def active: Watermark = Watermark.of(millis)

  /** This watermark moved by a constant, as a time range of a join moves it. */
  final def plus(offsetMillis: Long): Watermark = this match {
    case Watermark.At(millis) => Watermark.At(millis + offsetMillis)
    case Watermark.Idle(reached) => Watermark.Idle(reached.map(_ + offsetMillis))
    case Watermark.Unknown => Watermark.Unknown
  }

  /** The number that Spark's operators get: 0 if undefined, never before the epoch, and no more than µs can hold. */
  final def sparkMillis: Long = millis.fold(0L)(at => math.max(EventTimeUnits.held(at), 0L))

  /** The time, if there is one. */
  final def millis: Option[Long] = this match {
    case Watermark.At(value) => Some(value)
    case Watermark.Idle(reached) => reached
    case Watermark.Unknown => None
  }

  final def isIdle: Boolean = this.isInstanceOf[Watermark.Idle]
}

object Watermark {
  case object Unknown extends Watermark
  final case class At(value: Long) extends Watermark

  /** @param reached the time that the input had reached; `None` if it never had rows */
  final case class Idle(reached: Option[Long]) extends Watermark

  def of(millis: Option[Long]): Watermark = millis.fold[Watermark](Unknown)(At(_))
}
