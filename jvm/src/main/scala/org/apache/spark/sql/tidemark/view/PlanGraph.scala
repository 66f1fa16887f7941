package org.apache.spark.sql.tidemark.view

import scala.xml.NodeSeq

/** The plan from the inputs on the left to the sink on the right, with the watermark on each edge. The edges from the input
  * that holds results back are broad, dashed, and say so. Of an input that is ahead, only its own edge is.
  *
  * A plan is a tree, so each operator stands beside the middle of those that it reads.
  *
  * @param cause the input that the report's sentence is about
  */
private[view] final class PlanGraph(plan: Fields, cause: Option[Cause], say: Say) {
  import PlanGraph._

  private val (root, rows) = place(plan, 0, 0.0)
  private val nodes = all(root)
  private val columns = nodes.map(_.column).max + 1

  /** The day of all watermarks, if they have the same one. The heading names it, and the edges need not. */
  private val day = Some(nodes.flatMap(_.out).map(say.day).distinct).filter(_.size == 1).map(_.head)

  /** `None` if the plan is too large to be read in a drawing. */
  def drawing: Option[Drawing] = Option.when(nodes.size <= MostNodes) {
    Drawing(
      "The plan, with the watermark that each operator passes on",
      math.max(columns * Wide + SinkWide + 20, HeadingWide),
      (math.max(1.0, rows) * Tall + 34).toInt,
      Svg.text(10, 16, heading, isBold = true) ++
        nodes.flatMap(vertex => edges(vertex) ++ box(vertex)) ++ sink)
  }

  /** What the drawing does not show. */
  def leftOut: Option[String] = Option.when(nodes.size > MostNodes)(
    s"The plan has ${Say.grouped(nodes.size.toLong)} operators; a drawing has at most $MostNodes.")

  private def heading: String =
    s"The plan, and the watermark that each operator passes on${day.fold("")(of => s" (times of $of)")}"

  private def x(column: Int): Double = 10.0 + (columns - 1 - column) * Wide
  private def y(row: Double): Double = 28 + row * Tall

  private def box(vertex: Node): NodeSeq = {
    val (left, top) = (x(vertex.column), y(vertex.row))
    val (stroke, dash) = if (vertex.cause.nonEmpty) (Svg.Alarm, "6 3") else (Svg.Ink, "")
    Svg.box(left, top, BoxWide, BoxTall, stroke, dash, round = 6) ++
      Svg.text(left + 8, top + 17, vertex.label, isBold = true) ++
      vertex.details.zipWithIndex.flatMap { case (line, at) => Svg.text(left + 8, top + 32 + at * 13, line, size = 10) }
  }

  private def edges(vertex: Node): NodeSeq = vertex.inputs.flatMap { from =>
    edge(from, x(vertex.column), y(vertex.row) + BoxTall / 2)
  }

  private def edge(from: Node, toX: Double, toY: Double): NodeSeq = {
    val (fromX, fromY) = (x(from.column) + BoxWide, y(from.row) + BoxTall / 2)
    val middle = (fromX + toX) / 2
    def at(x: Double, y: Double) = s"${Svg.number(x)} ${Svg.number(y)}"
    val curve = s"M${at(fromX, fromY)}C${at(middle, fromY)} ${at(middle, toY)} ${at(toX, toY)}"
    val (path, fill) =
      if (from.word.nonEmpty) (Svg.path(curve, Svg.Alarm, 3, dash = "6 3"), Svg.Alarm)
      else (Svg.path(curve, opacity = 0.5), Svg.Ink)
    // The offset is in the table.
    val out = from.out.fold("undefined")(say.clock) + from.word.fold("")(word => s" $word")
    val lines = from.out.filter(_ => day.isEmpty).map(say.day).toSeq :+ out
    // Where the curve does not go.
    val top = if (toY < fromY) fromY + 13 else fromY - 6 - 12 * (lines.size - 1)
    path ++ lines.zipWithIndex.flatMap { case (line, at) => Svg.text(fromX + 4, top + 12 * at, line, fill, 10) }
  }

  private def sink: NodeSeq = {
    val (left, top) = (x(0) + Wide, y(root.row))
    edge(root, left, top + BoxTall / 2) ++ Svg.box(left, top, SinkWide, BoxTall, round = 6) ++
      Svg.text(left + 8, top + 17, "sink", isBold = true)
  }

  /** @param top the first free row; returned is the one after those that this operator takes */
  private def place(operator: Fields, column: Int, top: Double): (Node, Double) = {
    val (inputs, next) = operator.list("children").foldLeft((Vector.empty[Node], top)) { case ((placed, row), child) =>
      val (vertex, after) = place(child, column + 1, row)
      (placed :+ vertex, after)
    }
    val row = if (inputs.isEmpty) top else (inputs.head.row + inputs.last.row) / 2
    val own = cause.filter(cause => operator.text("key").contains(cause.key)).map(_.kind)
    // What has run ahead may be held back by another input on its way.
    val does = own.orElse(inputs.flatMap(_.cause).find(_ == Cause.Holds))
    val node = Node(column, row, label(operator), details(operator, own), Operators.leastOut(operator), does, inputs)
    (node, math.max(next, top + 1))
  }

  private def label(operator: Fields): String =
    operator.text("key").fold(Say.brief(Operators.name(operator)))(Say.brief)

  private def details(operator: Fields, own: Option[Cause.Kind]): Seq[String] =
    if (operator.has("key"))
      Say.brief(operator.text("operator").getOrElse("?")) +: own.filter(_ == Cause.ClockAhead).map(_.word).toSeq
    else
      Seq(
        operator.long("state_rows").map(rows => s"${Say.counted(rows, "row")} in state"),
        operator.long("passed_rows").map(rows => s"${Say.counted(rows, "late row")} passed on")
          .orElse(operator.long("late_rows").map(rows => Say.counted(rows, "late row")))).flatten
}

private[view] object PlanGraph {
  private val MostNodes = 60
  private val Wide = 275
  private val BoxWide = 180.0
  private val BoxTall = 52.0
  private val Tall = 66.0
  private val SinkWide = 60
  private val HeadingWide = 560

  /** @param column how many operators are between it and the sink
    * @param out the watermark that it passes on, in ms since the epoch
    * @param cause what the input does from here on that the report's sentence is about
    */
  private final case class Node(
      column: Int,
      row: Double,
      label: String,
      details: Seq[String],
      out: Option[Long],
      cause: Option[Cause.Kind],
      inputs: Seq[Node]) {

    /** What is said beside its watermark. One of an input with a wrong clock may still be right. */
    def word: Option[String] = cause.filter(_ != Cause.ClockAhead).map(_.word)
  }

  private def all(node: Node): Vector[Node] = node +: node.inputs.flatMap(all).toVector
}
