package io.tidemark.core.why

import java.time.{Instant, ZoneId}
import java.time.format.DateTimeFormatter

/** Times, lengths of time and names as a sentence has them.
  * @param zone the session's time zone; each time has its offset, so that no reader has to know it
  */
final class Words(zone: ZoneId) {
  import Words._

  /** A time such as `2026-11-24T12:10:00Z`, with milliseconds only where it has any. */
  def at(millis: Long): String =
    if (millis < -MostMillis || millis > MostMillis) s"$millis ms"
    else {
      val form = if (Math.floorMod(millis, 1000L) == 0) Seconds else Millis
      form.format(Instant.ofEpochMilli(millis).atZone(zone))
    }

  /** A name by its first 60 characters, in quotes. What does not print is escaped, so that it stays on one line. */
  def name(text: String): String = {
    val (first, isCut) = cut(text, LongestName)(point => if (isQuote(point)) "\\" + point.toChar else printing(point))
    if (isCut) s"\"$first\"..." else s"\"$first\""
  }
}

object Words {
  private val LongestName = 60
  private val Seconds = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ssXXX")
  private val Millis = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSXXX")

  // Years of five digits are a sign of a wrong unit, and the number says more.
  private val MostMillis = 253402300799999L

  private val Units =
    Seq("year" -> 31536000000L, "day" -> 86400000L, "hour" -> 3600000L, "minute" -> 60000L, "second" -> 1000L)

  /** A length of time by its two largest units, such as `2 hours 30 minutes`, and exactly below a minute. */
  def length(millis: Long): String = {
    val left = math.abs(millis)
    Units.indexWhere(_._2 <= left) match {
      case -1 => s"$left ms"
      case first if Units(first)._1 == "second" => seconds(left)
      case first => parts(left, Units.slice(first, first + 2))._2.mkString(" ")
    }
  }

  /** A length of time exactly, such as the `1 hour 30 minutes` of an option. */
  def exact(millis: Long): String = {
    val (rest, whole) = parts(millis, Units.filterNot(unit => unit._1 == "year" || unit._1 == "second"))
    val last =
      if (rest == 0 && whole.nonEmpty) None else Some(if (rest > 0 && rest < 1000) s"$rest ms" else seconds(rest))
    (whole ++ last).mkString(" ")
  }

  /** How often each unit is in a length of time, where it is, and what is left. */
  private def parts(millis: Long, units: Seq[(String, Long)]): (Long, Vector[String]) =
    units.foldLeft((millis, Vector.empty[String])) { case ((rest, texts), (unit, size)) =>
      val count = rest / size
      (rest % size, if (count == 0) texts else texts :+ counted(count, unit))
    }

  private def seconds(millis: Long): String = {
    val number = BigDecimal(millis, 3).bigDecimal.stripTrailingZeros.toPlainString
    s"$number second${if (number == "1") "" else "s"}"
  }

  /** A length of time that is no shorter, by at most two units, so that it can be used as one. */
  def atLeast(millis: Long): String = {
    val unit =
      if (millis >= 24 * 3600000L) 3600000L else if (millis >= 3600000L) 60000L else if (millis >= 60000L) 1000L else 1L
    length(Math.floorDiv(millis + unit - 1, unit) * unit)
  }

  /** A text in quotes as code has it: however long it is, it can be pasted. */
  def quoted(text: String): String =
    "\"" + cut(text, Int.MaxValue)(point => if (isQuote(point)) "\\" + point.toChar else printing(point))._1 + "\""

  /** A length of time as an option has it: exactly, in its largest whole unit. */
  def interval(millis: Long): String =
    Units.find { case (unit, size) => unit != "year" && millis % size == 0 }
      .fold(s"$millis milliseconds") { case (unit, size) =>
        s"${millis / size} $unit${if (millis == size) "" else "s"}"
      }

  def counted(count: Long, noun: String): String = s"${grouped(count)} $noun${if (count == 1) "" else "s"}"

  def grouped(count: Long): String = String.format(java.util.Locale.ROOT, "%,d", Long.box(count))

  /** A text on one line: what does not print is escaped, and it ends after about `most` characters. */
  def legible(text: String, most: Int): String = {
    val (first, isCut) = cut(text, most)(printing)
    if (isCut) s"$first..." else first
  }

  private def cut(text: String, most: Int)(piece: Int => String): (String, Boolean) = {
    val out = new StringBuilder
    val points = text.codePoints.iterator
    while (points.hasNext && out.length < most) out ++= piece(points.nextInt())
    (out.result(), points.hasNext)
  }

  private def isQuote(point: Int): Boolean = point == '"' || point == '\\'

  private val Short = Map[Int, String]('\n'.toInt -> "\\n", '\r'.toInt -> "\\r", '\t'.toInt -> "\\t")

  private def printing(point: Int): String = Short.getOrElse(point, escaped(point))

  private def escaped(point: Int): String = Character.getType(point).toByte match {
    case Character.CONTROL | Character.FORMAT | Character.SURROGATE | Character.UNASSIGNED | Character.PRIVATE_USE |
        Character.LINE_SEPARATOR | Character.PARAGRAPH_SEPARATOR =>
      if (Character.isBmpCodePoint(point)) f"\\u$point%04x" else f"\\U$point%08x"
    case _ => Character.toString(point)
  }
}
