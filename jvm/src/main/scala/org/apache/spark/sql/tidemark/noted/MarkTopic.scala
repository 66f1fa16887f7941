package org.apache.spark.sql.tidemark.noted

import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, StandardCharsets}

import scala.collection.mutable

import io.tidemark.core.noted.{Mark, MarkId, WriterHistory}

/** The mark log of one stream in a Kafka topic.
  *
  * About `mostMarks` marks are kept. Of more, every second one is left out, which is sound where positions say where a writer
  * is. Marks of files are a chain, and all stay until they are passed.
  */
private[tidemark] final class MarkTopic private (
    stream: String,
    records: TopicRecords,
    mostMarks: Int)
    extends MarkSource {
  import MarkTopic._

  private val writers = mutable.HashMap.empty[String, Writer]
  private val skipped = mutable.HashMap.empty[String, Int]
  // Whether a reader that knew no writer has found the beginning of a partition removed.
  private var isCut = false
  private val start = stream.getBytes(StandardCharsets.UTF_8)

  /** Whether the topic exists is only found out by reading. */
  override def exists: Boolean = true

  override def read(
      passed: Map[String, MarkId] = Map.empty,
      isWanted: String => Boolean = _ => true): MarkLogContents = {
    writers.foreach { case (writer, marks) => passed.get(writer).foreach(marks.forget) }
    var room = mostMarks - writers.valuesIterator.map(_.size).sum
    records.news(forgetAll _) { record =>
      try
        writerOf(record.key, start).filter(isWanted).foreach { writer =>
          val marks = writers.getOrElseUpdate(writer, new Writer(writer))
          if (marks.take(record, passed.get(writer))) room -= 1
          if (room < 0) room = thinOut()
        }
      catch { case e: MarkText.Unusable => skipped.updateWith(e.reason)(count => Some(count.getOrElse(0) + 1)) }
    }
    if (passed.isEmpty) isCut = records.beginsLater
    MarkLogContents(
      for { (writer, marks) <- writers.toMap; history <- marks.history } yield writer -> history,
      skipped.toMap,
      isCut)
  }

  override def close(): Unit = records.close()

  private def forgetAll(): Unit = {
    writers.clear()
    skipped.clear()
  }

  private def thinOut(): Int = {
    writers.valuesIterator.foreach(_.thinOut())
    // Chains of files may leave no room. The next try then comes after half of `mostMarks` new marks.
    math.max(mostMarks - writers.valuesIterator.map(_.size).sum, mostMarks / 2)
  }
}

private[tidemark] object MarkTopic {

  /** @param topic its name
    * @param open Spark's Kafka source for it, which leaves out what is not committed
    */
  def apply(topic: String, stream: String, mostMarks: Int = MarkLogReader.MostMarks)(
      open: => KafkaSource.Stream): MarkTopic = new MarkTopic(stream, new TopicRecords(topic, open), mostMarks)

  /** The writer of a record, by its key; `None` for another stream.
    * @param stream the stream's name in UTF-8
    * @throws MarkText.Unusable if no stream has such a key
    */
  def writerOf(key: Option[Array[Byte]], stream: Array[Byte]): Option[String] = {
    val bytes = key.getOrElse(Array.emptyByteArray)
    val end = bytes.indexOf(0.toByte)
    if (end < 0) throw new MarkText.Unusable("key")
    if (end != stream.length || !bytes.startsWith(stream)) None
    else
      try
        Some(StandardCharsets.UTF_8.newDecoder.decode(ByteBuffer.wrap(bytes, end + 1, bytes.length - end - 1)).toString)
      catch { case _: CharacterCodingException => throw new MarkText.Unusable("key") }
  }

  /** The marks of one writer that are needed. */
  private final class Writer(name: String) {
    private var marks = Vector.empty[Mark]
    private var cached = Option.empty[WriterHistory]
    // Partitions in which a mark was read.
    private var begun = Set.empty[Int]
    // A record that cannot be used may be the first mark or the newest mark. The numbers show if a mark in between is
    // missing.
    private var isDamaged = false
    private val torn = mutable.HashMap.empty[Int, TopicRecords.Record]

    def size: Int = marks.size

    /** @return whether the record has a mark that is needed
      * @throws MarkText.Unusable if it has none that can be used
      */
    def take(record: TopicRecords.Record, passed: Option[MarkId]): Boolean =
      try {
        val found = mark(record.value.getOrElse(throw new MarkText.Unusable("json")))
        if (found.nonEmpty) {
          begun += record.partition
          if (torn.remove(record.partition).nonEmpty) cached = None
        }
        val dated = found.map(mark =>
          record.appendedMillis.fold(mark.copy(isDated = false)) { at =>
            mark.copy(writtenMillis = at)
          })
        val needed = dated.filter(mark => passed.forall(mark.place >= _))
        needed.foreach(marks :+= _)
        if (needed.nonEmpty) cached = None
        needed.nonEmpty
      } catch {
        case e: MarkText.Unusable =>
          isDamaged ||= !begun(record.partition)
          // A record without a value is not a mark: it lets Kafka remove the records before it.
          if (record.value.nonEmpty) torn(record.partition) = record
          cached = None
          throw e
      }

    // Reads the marks of the life that was met last.
    private var usual = Option.empty[UsualMark]

    private def mark(value: Array[Byte]): Option[Mark] = usual.flatMap(_.read(value, 0, value.length)).orElse {
      val found = MarkText.record(value, name)
      found.foreach(mark => usual = Some(new UsualMark(name, mark.epoch)))
      found
    }

    /** Leaves out marks before a passed mark. That mark stays, so that a missing mark behind it is seen. */
    def forget(passed: MarkId): Unit = {
      val kept = marks.filter(_.place >= passed)
      if (kept.size < marks.size) { marks = kept; cached = None }
    }

    def history: Option[WriterHistory] = {
      if (cached.isEmpty) {
        val newest = unread
        cached =
          if (marks.nonEmpty) Some(WriterHistory(name, marks, Option.when(isDamaged)(MarkId(0, 0)), newest.map(_._1)))
          else newest.map { case (at, written) =>
            WriterHistory.unreadable(name, at, written.getOrElse(at.epoch), written.nonEmpty)
          }
      }
      cached
    }

    /** The newest record that may be a mark behind all others, and when it was appended (ms). */
    private def unread: Option[(MarkId, Option[Long])] = {
      val last = marks.map(_.place).maxOption
      val latest = last.fold(0L)(_.epoch)
      torn.valuesIterator.map { record =>
        val epoch = record.value.flatMap(MarkText.epoch).fold(latest)(_.epoch)
        val number = last.filter(_.epoch == epoch).fold(0L)(_.number + 1)
        MarkId(epoch, number) -> record.appendedMillis
        // A later life has read what earlier ones have said.
      }.filter(_._1.epoch >= latest).maxOption
    }

    def thinOut(): Unit = {
      val ordered = marks.sortBy(_.place)
      marks = ordered.indices.collect {
        case at if at % 2 == 0 || at == ordered.size - 1 || isNeeded(ordered(at), ordered(at - 1)) => ordered(at)
      }.toVector
      cached = None
    }

    /** What begins a life fences off earlier ones, and what follows a rest ends it. */
    private def isNeeded(mark: Mark, before: Mark): Boolean =
      mark.after.nonEmpty || before.isResting || mark.files.isDefined
  }
}
