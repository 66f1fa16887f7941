package org.apache.spark.sql.tidemark.view

import scala.xml.{Attribute, Elem, Node, NodeSeq, Null, Text}

/** A drawing, by itself or as a part of another one.
  * @param title what it shows, for those who cannot see it
  */
private[view] final case class Drawing(title: String, width: Int, height: Int, shapes: NodeSeq) {

  def svg: Elem =
    <svg viewBox={s"0 0 $width $height"} width={width.toString} height={height.toString} role="img"
      font-family="sans-serif"><title>{title}</title>{shapes}</svg>

  /** As a file of its own. On its page the text is dark, because nothing around it says how it should be. */
  def file: Elem =
    svg % Attribute(None, "xmlns", Text("http://www.w3.org/2000/svg"), Null) %
      Attribute(None, "style", Text("color:#24292f;background:#fff"), Null)
}

private[view] object Drawing {

  /** One below the other. */
  def stack(title: String, all: Seq[Drawing]): Drawing = {
    val tops = all.scanLeft(0)(_ + _.height)
    val shapes = all.zip(tops).map { case (part, top) => <g transform={s"translate(0 $top)"}>{part.shapes}</g>: Node }
    Drawing(title, all.map(_.width).maxOption.getOrElse(0), tops.last, shapes)
  }
}
