package io.tidemark.core

/** Event times in ms, as in watermarks, and in µs, as in Spark's rows. The only place that converts them: a time that the
  * other unit cannot hold becomes its first or last one.
  */
object EventTimeUnits {

  /** The first and the last ms of what Spark's TIMESTAMP can hold. */
  val LeastMillis: Long = Long.MinValue / 1000L
  val MostMillis: Long = Long.MaxValue / 1000L

  def micros(millis: Long): Long =
    if (millis > MostMillis) Long.MaxValue else if (millis < LeastMillis) Long.MinValue else millis * 1000L

  /** The ms that a time is in, or after. */
  def millis(micros: Long): Long = Math.floorDiv(micros, 1000L)

  /** The first ms at or after a time. */
  def millisFrom(micros: Long): Long = Math.floorDiv(micros, 1000L) +
    (if (Math.floorMod(micros, 1000L) == 0) 0L else 1L)

  /** The sum of a time and a length of time that is not negative (ms), or the last time if a Long cannot hold it. */
  def saturatedPlus(millis: Long, aheadMillis: Long): Long =
    if (aheadMillis > Long.MaxValue - math.max(millis, 0L)) Long.MaxValue else millis + aheadMillis

  /** A time that a TIMESTAMP can hold: what a writer notes may be any number. Arithmetic in ms does not leave a Long then. */
  def held(millis: Long): Long = math.max(LeastMillis, math.min(millis, MostMillis))
}
