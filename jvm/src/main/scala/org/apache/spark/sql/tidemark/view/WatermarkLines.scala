package org.apache.spark.sql.tidemark.view

import scala.xml.NodeSeq

/** The watermark of each input, and its largest event time, over processing time. Event time goes up. */
private[view] final class WatermarkLines(past: Past, cause: Option[Cause], say: Say) {
  import WatermarkLines._

  private val drawn = past.inputs.sortBy(last).take(Svg.MostHues)
  private val frame = new Frame(past.times, say)
  private val y =
    Scale.of(drawn.flatMap(moment => moment.watermarks ++ moment.furthest).flatten.filter(isPlausible), Bottom, Top)

  /** One row dated 2100, or a null, would press all lines into a corner. If all times are like that, they are shown. */
  private def isPlausible(millis: Long): Boolean = hasPlausible.fold(isTime(millis))(_(millis))

  private lazy val hasPlausible: Option[Long => Boolean] = {
    val last = past.times.lastOption.getOrElse(0L)
    val plausible = (millis: Long) => isTime(millis) && millis != OfNull && millis <= last + FarAheadMillis
    Option.when(drawn.exists(moment => (moment.watermarks ++ moment.furthest).flatten.exists(plausible)))(plausible)
  }

  def drawing: Drawing = Drawing(
    "Event time over processing time: the watermark of each input, and how far it is",
    Frame.Width,
    Height,
    frame.around("Event time over processing time", Top, Bottom - Top) ++ times ++ same ++
      drawn.zipWithIndex.flatMap { case (moment, index) => input(moment, index) })

  /** What the drawing does not show. */
  def leftOut: Seq[String] = {
    val more = past.inputs.size - drawn.size + past.leftOut
    val inputs = Option.when(more > 0)(
      s"The lines are those of the ${drawn.size} inputs furthest behind; ${Say.counted(more, "input")} more are left out.")
    val thinned = Option.when(past.batches > past.times.size)(
      s"Of ${Say.grouped(past.batches)} batches the history has ${past.times.size}.")
    inputs.toSeq ++ thinned
  }

  private def times: NodeSeq = Scale.ticks(y, 7, say).flatMap { case (at, label) =>
    frame.beside(y(at), label) ++
      Svg.path(s"M${Svg.number(Frame.Left)} ${Svg.number(y(at))}h${Svg.number(Frame.Across)}", opacity = 0.15)
  }

  /** Where event time is processing time, if that is in the drawing. */
  private def same: NodeSeq = {
    val (from, to) = (math.max(frame.x.from, y.from), math.min(frame.x.to, y.to))
    if (from >= to) NodeSeq.Empty
    else
      Svg.path(
        s"M${Svg.number(frame.x(from))} ${Svg.number(y(from))}L${Svg.number(frame.x(to))} ${Svg.number(y(to))}",
        dash = "2 3",
        opacity = 0.5) ++
        Svg.text(frame.x(from) + 6, y(from) - 4, "event time = processing time", size = 10)
  }

  private def input(moment: Past.InputMoment, index: Int): NodeSeq = {
    val hue = Svg.hue(index)
    val does = cause.filter(_.key == moment.key).map(_.kind)
    val lines = Svg.path(frame.steps(moment.furthest, y(_)), hue, 1.5) ++
      Svg.path(frame.steps(moment.watermarks, y(_)), hue, if (does.nonEmpty) 3 else 1.5, dash = "5 3")
    val dots = if (past.times.size > 1) NodeSeq.Empty
    else moment.watermarks.lastOption.flatten.toSeq.map(at => Svg.dot(frame.x(past.times.last), y(at), hue)): NodeSeq
    val top = Top + 6 + index * 34
    val reached = moment.watermarks.lastOption.flatten
    lines ++ dots ++
      Svg.path(s"M${Svg.number(Frame.Beside)} ${Svg.number(top)}h18", hue, 2) ++
      Svg.path(s"M${Svg.number(Frame.Beside)} ${Svg.number(top + 14)}h18", hue, 2, dash = "5 3") ++
      Svg.text(
        Frame.Beside + 24,
        top + 4,
        s"${Say.brief(moment.key)}: ${moment.furthestName}${beyond(moment)}",
        size = 11) ++
      Svg.text(
        Frame.Beside + 24,
        top + 18,
        s"watermark${does.fold("")(kind => s", ${kind.word}")}${none(reached)}",
        size = 11)
  }

  private def none(reached: Option[Long]): String = if (reached.isEmpty) ", undefined" else ""

  private def beyond(moment: Past.InputMoment): String =
    if (moment.furthest.lastOption.flatten.exists(!y.has(_))) ", off the drawing" else ""

  private def last(moment: Past.InputMoment): Long = moment.watermarks.lastOption.flatten.getOrElse(Long.MinValue)
}

private[view] object WatermarkLines {
  private val Top = 30.0
  private val Bottom = 310.0
  private val Height = 340

  private val FarAheadMillis = 24 * 3600 * 1000L
  private val MostMillis = 253402300799999L

  // Spark counts a null as this event time.
  private val OfNull = 0L

  private def isTime(millis: Long): Boolean = -MostMillis <= millis && millis <= MostMillis
}
