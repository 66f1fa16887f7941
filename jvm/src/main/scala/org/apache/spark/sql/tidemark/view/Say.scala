package org.apache.spark.sql.tidemark.view

import java.time.{DateTimeException, Instant, ZoneId, ZoneOffset}
import java.time.format.DateTimeFormatter

import io.tidemark.core.why.Words

/** Times and names in a drawing. Names are what users and their data say, so each goes through here.
  * @param zone the time zone in which people read times
  */
private[view] final class Say(zone: ZoneId) {
  import Say._

  private val words = new Words(zone)

  /** A time in full, or `undefined`. */
  def time(millis: Option[Long]): String = millis.fold("undefined")(words.at)

  /** The name of a split, which may be anything, in quotes. */
  def quoted(text: String): String = words.name(text)

  /** A time beside an axis, as exactly as its ticks need.
    * @param step from one tick to the next, in ms
    * @param span of the whole axis, in ms
    */
  def tick(millis: Long, step: Long, span: Long): String = {
    val form = if (step >= Day) Date else if (span > Day) DateAndTime else if (step >= 60000) Time else Seconds
    form.format(Instant.ofEpochMilli(millis).atZone(zone))
  }

  /** The day of a time. */
  def day(millis: Long): String = Date.format(Instant.ofEpochMilli(millis).atZone(zone))

  /** A time without its day and its offset. */
  def clock(millis: Long): String = Seconds.format(Instant.ofEpochMilli(millis).atZone(zone))

  /** How far the zone is ahead of UTC then, in ms. */
  def offset(millis: Long): Long = zone.getRules.getOffset(Instant.ofEpochMilli(millis)).getTotalSeconds * 1000L
}

private[view] object Say {
  private val Day = 86400000L
  private val Date = DateTimeFormatter.ofPattern("yyyy-MM-dd")
  private val DateAndTime = DateTimeFormatter.ofPattern("MM-dd HH:mm")
  private val Time = DateTimeFormatter.ofPattern("HH:mm")
  private val Seconds = DateTimeFormatter.ofPattern("HH:mm:ss")

  /** In the zone that a report names; in UTC if it names none, or one that Java does not know. */
  def in(report: Fields): Say = {
    val zone =
      try report.text("zone").fold[ZoneId](ZoneOffset.UTC)(ZoneId.of(_))
      catch { case _: DateTimeException => ZoneOffset.UTC }
    new Say(zone)
  }

  /** A name, such as that of an input or a split. */
  def name(text: String): String = Words.legible(text, 60)

  /** An event-time column by its name, and by the key of its input where that is another. */
  def label(key: Option[String], column: Option[String]): String = (key, column) match {
    case (Some(key), Some(column)) if key != column => s"${name(column)} [${name(key)}]"
    case _ => name(column.orElse(key).getOrElse("?"))
  }

  /** A heading and the lines below it; nothing if there are none. */
  def titled(title: String, lines: Seq[String]): Seq[String] = if (lines.isEmpty) Nil else title +: lines

  /** A line in which everything that does not print is escaped. */
  def printable(line: String): String = Words.legible(line, Int.MaxValue)

  /** A name where there is little room. */
  def brief(text: String): String = Words.legible(text, 22)

  /** A sentence of the engine. */
  def sentence(text: String): String = Words.legible(text, 2000)

  def counted(count: Long, noun: String): String = Words.counted(count, noun)
  def grouped(count: Long): String = Words.grouped(count)
  def length(millis: Long): String = Words.length(millis)
}
