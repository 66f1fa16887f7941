package org.apache.spark.sql.tidemark.view

/** How many rows all operators have in state, over processing time. */
private[view] object StateLine {
  private val Top = 30.0
  private val Tall = 60.0

  def drawing(past: Past, say: Say): Option[Drawing] = past.state.map { state =>
    val frame = new Frame(past.times, say)
    val y = Scale(0, math.max(1L, state.maxOption.getOrElse(0L)), Top + Tall, Top)
    val line = Svg.path(frame.steps(state.map(Some(_)), y(_)), Svg.hue(0), 1.5)
    val last = state.lastOption.fold("")(rows => s"${Say.counted(rows, "row")} now")
    Drawing(
      "Rows in state",
      Frame.Width,
      (Top + Tall + 26).toInt,
      frame.around("Rows in state", Top, Tall) ++ frame.beside(Top, Say.grouped(y.to)) ++
        frame.beside(Top + Tall, "0") ++
        line ++ Svg.text(Frame.Beside, Top + 12, last, size = 11))
  }
}
