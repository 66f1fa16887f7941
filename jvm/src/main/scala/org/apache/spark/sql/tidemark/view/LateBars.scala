package org.apache.spark.sql.tidemark.view

import scala.xml.NodeSeq

/** Late rows of each batch, over processing time. */
private[view] object LateBars {
  private val Top = 30.0
  private val Tall = 60.0

  def drawing(past: Past, say: Say): Option[Drawing] = past.late.map { late =>
    val frame = new Frame(past.times, say)
    val most = late.maxOption.getOrElse(0L)
    val bars = past.times.indices.filter(late(_) > 0).map { at =>
      val tall = math.max(1.0, Tall * late(at) / most)
      s"M${Svg.number(frame.x(past.times(at)))} ${Svg.number(Top + Tall)}v${Svg.number(-tall)}"
    }
    val shapes: NodeSeq =
      if (most == 0) Svg.text(Frame.Left + 8, Top + Tall / 2, "No row was late.", size = 11)
      else frame.beside(Top, Say.grouped(most)) ++ Svg.path(bars.mkString, Svg.Alarm, 2)
    Drawing(
      "Late rows of each batch",
      Frame.Width,
      (Top + Tall + 26).toInt,
      frame.around("Late rows of each batch", Top, Tall) ++ shapes)
  }
}
