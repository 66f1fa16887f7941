package io.tidemark

import java.util.Locale

/** Lengths of time as text, such as `10 minutes` or `1 hour 30 minutes`. */
private[tidemark] object Durations {
  private val part = """(\d+)\s*([a-z]+)""".r
  private val units: Map[String, Long] = Seq(
    1L -> Seq("ms", "millisecond"),
    1000L -> Seq("s", "sec", "second"),
    60000L -> Seq("m", "min", "minute"),
    3600000L -> Seq("h", "hour"),
    86400000L -> Seq("d", "day"),
    604800000L -> Seq("week")).flatMap { case (millis, names) =>
    names.flatMap(n => Seq(n -> millis, s"${n}s" -> millis))
  }.toMap

  /** Milliseconds; `None` where the text is no length of time, or not above zero, or too long to count. */
  def millis(text: String): Option[Long] = {
    val words = text.trim.toLowerCase(Locale.ROOT).stripPrefix("interval ")
    val parts = part.findAllMatchIn(words).toSeq
    val rest = part.replaceAllIn(words, "").trim
    scala.util.Try {
      parts.foldLeft(0L)((all, p) => Math.addExact(all, Math.multiplyExact(p.group(1).toLong, units(p.group(2)))))
    }.toOption.filter(_ > 0 && rest.isEmpty)
  }
}
