package org.apache.spark.sql.tidemark.noted

import java.io.IOException

import io.tidemark.core.noted.{Mark, Position}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Notes how far one writer is. Its life begins with its first mark. One thread uses it at a time.
  *
  * @param beginLife begins a life of the writer at a time (ms)
  * @param clockMillis the present
  */
private[tidemark] final class MarkWriter private (
    location: String,
    val writer: String,
    beginLife: Long => WriterLife,
    clockMillis: () => Long) {
  import MarkWriter._

  private var begun = Option.empty[WriterLife]
  private var number = 0L
  private var time = Option.empty[Long]
  private var isIdle = false
  private var lastMillis = Long.MinValue / 2

  /** The largest time that is noted (ms), by this life or one before. */
  def timeMillis: Option[Long] = time

  /** States that all rows up to a time are before a position. A time that is no later than the last one says nothing new:
    * then the mark only says that the writer is alive, and is written now and then.
    *
    * @param noted the time, ms; `None` if there is none yet
    * @param idle whether readers may leave the writer out until its next mark
    * @param position asked only if a mark is written
    * @throws java.io.IOException if the log cannot be written. The next mark carries this one along
    * @throws MarkWriter.Fenced if a later writer of the name has begun
    */
  def note(noted: Option[Long], idle: Boolean, position: => Position): Unit = {
    val life = begin()
    val advances = noted.exists(at => time.forall(_ < at))
    val now = math.max(clockMillis(), 0L)
    if (advances || idle != isIdle || !idle && now - lastMillis >= AliveMillis) {
      val kind = if (idle) Mark.Idle else if (advances) Mark.Note else Mark.Alive
      add(life, kind, if (kind == Mark.Alive) None else noted.filter(_ => advances), Some(position), now)
      time = if (advances) noted else time
      isIdle = idle
    }
  }

  /** No more marks are written. */
  def close(): Unit = begun.foreach(_.close())

  private def begin(): WriterLife = begun.getOrElse {
    val now = math.max(clockMillis(), 0L)
    val life = beginLife(now)
    begun = Some(life)
    time = life.timeMillis
    add(life, Mark.Alive, None, None, now)
    life
  }

  private def add(life: WriterLife, kind: Mark.Kind, noted: Option[Long], at: Option[Position], now: Long): Unit = {
    if (life.isFenced) throw new Fenced(writer, location)
    val after = if (number == 0) life.last else None
    val mark = Mark(writer, life.epoch, number, kind, noted, now, at, after)
    // If it cannot be written now, it is written with the next one.
    number += 1
    life.add(mark)
    lastMillis = now
    if (life.isFenced) throw new Fenced(writer, location)
  }
}

private[tidemark] object MarkWriter {

  /** A writer of marks in a folder. */
  def inFolder(
      location: String,
      conf: => Configuration,
      writer: String,
      clockMillis: () => Long = () => System.currentTimeMillis()): MarkWriter =
    new MarkWriter(location, writer, MarkLife.begin(new Path(location), conf, writer, _), clockMillis)

  /** A writer of the marks of a stream in a topic. */
  def inTopic(
      location: String,
      topic: => MarksOfTopic,
      stream: String,
      writer: String,
      clockMillis: () => Long = () => System.currentTimeMillis()): MarkWriter =
    new MarkWriter(location, writer, TopicLife.begin(topic, stream, writer, _), clockMillis)

  /** Whether readers take marks of a writer with this name. */
  def isName(writer: String): Boolean = MarkFileName.encode(writer).length <= 160 && MarkText.isWriter(writer)

  /** How often a writer without news says that it is alive. */
  private val AliveMillis = 10000L

  /** Another process writes marks under the same name. */
  final class Fenced(writer: String, location: String)
      extends IOException(s"a later writer of the name '$writer' has begun in $location, or its files were removed")
}
