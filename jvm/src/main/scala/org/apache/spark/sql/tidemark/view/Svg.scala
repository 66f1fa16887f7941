package org.apache.spark.sql.tidemark.view

import java.math.{BigDecimal, RoundingMode}

import scala.xml.Elem

/** The few shapes that drawings consist of.
  *
  * Their colour is that of the text around them, so a drawing suits a light page and a dark one. Other colours are those of Okabe
  * and Ito, which people with any colour vision can tell apart, and none of them is the only sign of anything.
  */
private[view] object Svg {
  val Ink = "currentColor"
  val Alarm = "#D55E00"
  private val Hues = IndexedSeq("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B8A500", "#8A6FBF", "#7F7F7F")

  /** How many lines can be told apart. */
  val MostHues: Int = Hues.size
  def hue(index: Int): String = Hues(index % Hues.size)

  def text(
      x: Double,
      y: Double,
      content: String,
      fill: String = Ink,
      size: Int = 12,
      isBold: Boolean = false,
      anchor: String = "start"): Elem =
    <text x={number(x)} y={number(y)} fill={fill} font-size={size.toString} text-anchor={orNull(anchor, "start")}
      font-weight={if (isBold) "bold" else null}>{content}</text>

  def path(d: String, stroke: String = Ink, width: Double = 1, dash: String = "", opacity: Double = 1): Elem =
    <path d={d} fill="none" stroke={stroke} stroke-width={number(width)} stroke-dasharray={orNull(dash, "")}
      stroke-opacity={orNull(number(opacity), "1")}/>

  def box(
      x: Double,
      y: Double,
      width: Double,
      height: Double,
      stroke: String = Ink,
      dash: String = "",
      round: Int = 0): Elem =
    <rect x={number(x)} y={number(y)} width={number(width)} height={number(height)} rx={orNull(round.toString, "0")}
      fill="none" stroke={stroke} stroke-opacity={if (stroke == Ink) "0.5" else null} stroke-dasharray={
      orNull(dash, "")
    }/>

  def bar(x: Double, y: Double, width: Double, height: Double, fill: String, opacity: Double): Elem =
    <rect x={number(x)} y={number(y)} width={number(width)} height={number(height)} fill={fill}
      fill-opacity={number(opacity)}/>

  def dot(x: Double, y: Double, fill: String): Elem = <circle cx={number(x)} cy={number(y)} r="3" fill={fill}/>

  /** A coordinate, to a tenth. */
  def number(value: Double): String =
    BigDecimal.valueOf(value).setScale(1, RoundingMode.HALF_UP).stripTrailingZeros.toPlainString

  private def orNull(value: String, usual: String): String = if (value == usual) null else value
}
