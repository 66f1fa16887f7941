package org.apache.spark.sql.tidemark.view

import scala.xml.NodeSeq

/** What the drawings over processing time have in common: where they begin and end, and the times below them. */
private[view] final class Frame(times: IndexedSeq[Long], say: Say) {
  import Frame._

  val x: Scale = Scale.of(times, Left, Left + Across)

  /** The edge around a drawing, its heading, and the processing times below. */
  def around(heading: String, top: Double, height: Double): NodeSeq =
    Svg.text(Left, top - 8, heading, isBold = true) ++ Svg.box(Left, top, Across, height) ++
      Scale.ticks(x, 6, say).map { case (at, label) =>
        Svg.path(s"M${Svg.number(x(at))} ${Svg.number(top + height)}v4", opacity = 0.5) ++
          Svg.text(x(at), top + height + 16, label, size = 10, anchor = "middle")
      }.flatten

  /** What is written at the left of a height. */
  def beside(y: Double, label: String): NodeSeq = Svg.text(Left - 6, y + 4, label, size = 10, anchor = "end")

  /** A line of values, each of which stays until the next one; where a value is unknown there is a gap.
    * @param y where a value is
    */
  def steps(values: IndexedSeq[Option[Long]], y: Long => Double): String = {
    val path = new StringBuilder
    var before = Option.empty[Double]
    times.indices.foreach { at =>
      val now = values(at).map(y)
      val across = Svg.number(x(times(at)))
      (before, now) match {
        case (Some(old), Some(height)) =>
          path ++= s"H$across"
          if (old != height) path ++= s"V${Svg.number(height)}"
        case (Some(_), None) => path ++= s"H$across"
        case (None, Some(height)) => path ++= s"M$across ${Svg.number(height)}"
        case (None, None) =>
      }
      before = now
    }
    path.result()
  }
}

private[view] object Frame {
  val Width: Int = 980
  val Left = 110.0
  val Across = 620.0

  /** Where there is room for words beside a drawing. */
  val Beside: Double = Left + Across + 12
}
