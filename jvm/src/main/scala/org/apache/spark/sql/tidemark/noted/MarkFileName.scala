package org.apache.spark.sql.tidemark.noted

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, StandardCharsets}

import io.tidemark.core.noted.MarkId

/** What the name of a file says of the marks in it.
  *
  * {{{
  *   <writer>.<epoch>.0.marks, <writer>.<epoch>.1.marks     the newest marks of a life, in turn
  *   <writer>.<epoch>.<first>-<last>.marks                  older ones, which never change
  * }}}
  *
  * @param text the name itself
  * @param writer the writer's name, decoded
  * @param range the numbers of the first and the last mark of a sealed file; `None` for a live one
  */
private[tidemark] final case class MarkFileName(
    text: String,
    writer: String,
    epoch: Long,
    range: Option[MarkFileName.Range]) {

  def isLive: Boolean = range.isEmpty

  def life: (String, Long) = (writer, epoch)

  /** The place of the first mark that a sealed file promises. */
  def first: Option[MarkId] = range.map(span => MarkId(epoch, span.first))

  /** Whether it may have a mark behind a place. */
  def mayGoBeyond(place: MarkId): Boolean =
    epoch > place.epoch || epoch == place.epoch && range.forall(_.last > place.number)
}

private[tidemark] object MarkFileName {

  final case class Range(first: Long, last: Long)

  /** One of the two live files of a life. */
  def live(writer: String, epoch: Long, slot: Int): MarkFileName =
    MarkFileName(s"${encode(writer)}.$epoch.$slot.marks", writer, epoch, None)

  def sealedFile(writer: String, epoch: Long, first: Long, last: Long): MarkFileName =
    MarkFileName(s"${encode(writer)}.$epoch.$first-$last.marks", writer, epoch, Some(Range(first, last)))

  /** Whether a name is that of a temporary file of an earlier life: each life has names of its own. */
  def isLeftover(text: String, writer: String, epoch: Long): Boolean = text match {
    case Temporary(name, by) => parse(name).exists(_.writer == writer) && by.toLongOption.exists(_ < epoch)
    case _ => false
  }

  private val Temporary = raw"\.(.+)\.([0-9]{1,19})\.tmp".r

  private val Name = {
    val number = "(0|[1-9][0-9]{0,18})"
    raw"((?:[A-Za-z0-9_-]|%[0-9A-F]{2})+)\.$number\.(?:[01]|$number-$number)\.marks".r
  }

  /** What a file's name says; `None` if it is not a file of marks. */
  def parse(text: String): Option[MarkFileName] = text match {
    case Name(encoded, life, first, last) =>
      for {
        writer <- decode(encoded) if encode(writer) == encoded
        epoch <- life.toLongOption
        range <- if (first == null) Some(None) else Range.parse(first, last).map(Some(_))
      } yield MarkFileName(text, writer, epoch, range)
    case _ => None
  }

  /** What the name of a note about purged marks says, `<writer>.<epoch>.purged`; `None` for any other file. No reader takes
    * such a file for marks.
    */
  def parsePurged(text: String): Option[MarkFileName] =
    if (!text.endsWith(Purged)) None
    else parse(s"${text.dropRight(Purged.length)}.0.marks").map(_.copy(text = text))

  private val Purged = ".purged"

  object Range {
    def parse(first: String, last: String): Option[Range] =
      for { from <- first.toLongOption; to <- last.toLongOption } yield Range(from, to)
  }

  /** A writer in the name of a file: each byte outside `A-Z a-z 0-9 _ -` is `%XX`. */
  def encode(writer: String): String = writer.getBytes(StandardCharsets.UTF_8).map { byte =>
    val char = (byte & 0xff).toChar
    val isPlain = char < 128 && Character.isLetterOrDigit(char) || char == '_' || char == '-'
    if (isPlain) char.toString else f"%%${byte & 0xff}%02X"
  }.mkString

  private def decode(encoded: String): Option[String] = {
    val bytes = new ByteArrayOutputStream
    var at = 0
    while (at < encoded.length) {
      val isEscaped = encoded(at) == '%'
      bytes.write(if (isEscaped) Integer.parseInt(encoded.substring(at + 1, at + 3), 16) else encoded(at).toInt)
      at += (if (isEscaped) 3 else 1)
    }
    try Some(StandardCharsets.UTF_8.newDecoder.decode(ByteBuffer.wrap(bytes.toByteArray)).toString)
    catch { case _: CharacterCodingException => None }
  }
}
