package org.apache.spark.sql.tidemark.noted

import java.nio.charset.StandardCharsets.ISO_8859_1

import io.tidemark.core.noted.{Mark, MarkId, Position}

/** Reads the JSON of a mark byte by byte, in the form in which Tidemark writes it: a log may have a million marks. Any other
  * form is left to [[MarkText]]. A line of this form means the same there, and a test holds the two together.
  *
  * @param writer whose the marks must be; @param epoch the life that they must be of
  */
private[tidemark] final class UsualMark(writer: String, epoch: Long) {
  import UsualMark._

  private val begin = MarkText.begin(writer, epoch)

  /** The mark in these bytes; `None` if they have another form. */
  def read(bytes: Array[Byte], from: Int, until: Int): Option[Mark] =
    // A longer line could name more partitions or files than a mark may.
    if (until - from > MostBytes) None
    else
      try Some(mark(new Cursor(bytes, from, until)))
      catch { case OtherForm => None }

  private def mark(at: Cursor): Mark = {
    at.take(begin)
    val number = at.whole()
    at.take(KindField)
    val kind = kinds.find { case (_, name) => at.took(name) }.getOrElse(throw OtherForm)._1
    val time = if (at.took(TimeField)) Some(at.signed()) else None
    at.take(WrittenField)
    val written = at.whole()
    val position = if (at.took(PositionField)) Some(this.position(at)) else None
    val most = if (at.took(MostField)) Some(at.signed()) else None
    val after = if (at.took(AfterField)) Some(place(at)) else None
    at.take(End)
    if (!at.isAtEnd) throw OtherForm
    if (kind == Mark.Note && (time.isEmpty || position.isEmpty) || kind == Mark.Alive && time.nonEmpty) throw OtherForm
    Mark(writer, epoch, number, kind, time, written, position, after, most)
  }

  private def place(at: Cursor): MarkId = {
    val epoch = at.whole()
    at.take(Comma)
    val number = at.whole()
    at.take(EndOfList)
    MarkId(epoch, number)
  }

  private def position(at: Cursor): Position =
    if (at.took(Kafka)) {
      val topics = at.map(at.text(isTopic)) {
        at.take(Open)
        at.map(at.partition())(at.whole())
      }
      at.take(Close)
      Position.Kafka(topics)
    } else if (at.took(NumberPosition)) {
      val number = at.signed()
      at.take(Close)
      Position.Number(number)
    } else if (at.took(SinkPosition)) {
      val batch = at.whole()
      at.take(Close)
      at.take(Close)
      Position.SinkBatch(batch)
    } else if (at.took(FilesPosition)) {
      val names = Set.newBuilder[String]
      var more = !at.took(EndOfList)
      while (more) {
        at.take(Quote)
        names += at.text(isPlain)
        at.take(Quote)
        more = at.took(Comma)
        if (!more) at.take(EndOfList)
      }
      at.take(Close)
      Position.Files(names.result())
    } else throw OtherForm
}

private object UsualMark {
  private val MostBytes = 4096

  private def bytes(text: String) = text.getBytes(ISO_8859_1)

  private val KindField = bytes(",\"k\":\"")
  private val TimeField = bytes(",\"t\":")
  private val WrittenField = bytes(",\"at\":")
  private val PositionField = bytes(",\"p\":")
  private val MostField = bytes(",\"m\":")
  private val AfterField = bytes(",\"after\":[")
  private val Kafka = bytes("{\"kafka\":{")
  private val NumberPosition = bytes("{\"number\":")
  private val SinkPosition = bytes("{\"sink\":{\"batch\":")
  private val FilesPosition = bytes("{\"files\":[")
  private val Open = bytes("{")
  private val Close = bytes("}")
  private val EndOfList = bytes("]")
  private val Comma = bytes(",")
  private val Colon = bytes(":")
  private val Quote = bytes("\"")
  private val End = Close
  private val kinds = Mark.kinds.map(kind => kind -> bytes(kind.name + "\""))

  // Whether a name may have a character, by its code.
  private val isTopic = Array.tabulate(128)(code => code.toChar.isLetterOrDigit || "._-".contains(code.toChar))
  private val isPlain = Array.tabulate(128)(code => code >= ' ' && code <= '~' && code != '"' && code != '\\')

  private def isDigit(byte: Byte): Boolean = byte >= '0' && byte <= '9'

  /** The bytes have another form than the usual one. */
  private object OtherForm extends RuntimeException(null, null, false, false)

  private final class Cursor(bytes: Array[Byte], private var at: Int, until: Int) {

    def isAtEnd: Boolean = at == until

    def take(text: Array[Byte]): Unit = if (!took(text)) throw OtherForm

    /** Whether this text comes next. If so, it is passed over. */
    def took(text: Array[Byte]): Boolean = {
      var same = until - at >= text.length
      var next = 0
      while (same && next < text.length) {
        same = bytes(at + next) == text(next)
        next += 1
      }
      if (same) at += text.length
      same
    }

    /** A whole number of at most 18 digits, so that it is within 64 bits. */
    def whole(most: Int = 18): Long = {
      val from = at
      var value = 0L
      while (at < until && isDigit(bytes(at))) {
        value = value * 10 + (bytes(at) - '0')
        at += 1
      }
      val digits = at - from
      if (digits == 0 || digits > most || digits > 1 && bytes(from) == '0') throw OtherForm
      value
    }

    def signed(): Long = {
      val isNegative = at < until && bytes(at) == '-'
      if (isNegative) at += 1
      val value = whole()
      if (isNegative && value == 0) throw OtherForm
      if (isNegative) -value else value
    }

    def partition(): Int = whole(most = 9).toInt

    /** Characters of a kind, at least one. */
    def text(isPart: Array[Boolean]): String = {
      val from = at
      while (at < until && bytes(at) >= 0 && isPart(bytes(at).toInt)) at += 1
      if (at == from) throw OtherForm
      new String(bytes, from, at - from, ISO_8859_1)
    }

    /** The fields of an object behind its opening brace, and its closing one. */
    def map[A, B](key: => A)(value: => B): Map[A, B] = {
      val found = Map.newBuilder[A, B]
      var more = !took(Close)
      while (more) {
        take(Quote)
        val name = key
        take(Quote)
        take(Colon)
        found += name -> value
        more = took(Comma)
        if (!more) take(Close)
      }
      found.result()
    }
  }
}
