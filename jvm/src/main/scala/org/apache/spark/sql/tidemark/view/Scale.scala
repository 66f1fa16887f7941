package org.apache.spark.sql.tidemark.view

/** Where values are on an axis.
  * @param low where `from` is, and `high` where `to` is; on an axis that goes up, `low` is the larger one
  */
private[view] final case class Scale(from: Long, to: Long, low: Double, high: Double) {
  def span: Long = to - from

  /** A value off the axis is at its end. */
  def apply(value: Long): Double = {
    val share = (math.min(math.max(value, from), to) - from).toDouble / span
    low + share * (high - low)
  }

  def has(value: Long): Boolean = from <= value && value <= to
}

private[view] object Scale {

  /** With room for one value alone. */
  def of(values: Iterable[Long], low: Double, high: Double): Scale = {
    val (from, to) = (values.minOption.getOrElse(0L), values.maxOption.getOrElse(0L))
    if (from == to) Scale(from - 30000L, to + 30000L, low, high) else Scale(from, to, low, high)
  }

  private val Second = 1000L
  private val Minute = 60 * Second
  private val Hour = 60 * Minute
  private val Day = 24 * Hour
  private val Steps = Seq(1, 2, 5, 10, 20, 50, 100, 200, 500).map(_.toLong) ++
    Seq(1, 2, 5, 10, 15, 30).map(_ * Second) ++ Seq(1, 2, 5, 10, 15, 30).map(_ * Minute) ++
    Seq(1, 2, 3, 6, 12).map(_ * Hour) ++ Seq(1, 2, 7, 14, 30, 91, 182, 365).map(_ * Day)

  /** Round times on the axis, few enough to read, with what is written there. */
  def ticks(scale: Scale, most: Int, say: Say): Seq[(Long, String)] = {
    val step = Steps.find(scale.span / _ < most).getOrElse((scale.span / most / Day + 1) * Day)
    val offset = say.offset(scale.from)
    val first = Math.floorDiv(scale.from + offset + step - 1, step) * step - offset
    Iterator.iterate(first)(_ + step).takeWhile(_ <= scale.to).take(most + 1).map { at =>
      at -> say.tick(at, step, scale.span)
    }.toSeq
  }
}
