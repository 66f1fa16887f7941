package org.apache.spark.sql.tidemark.noted

import java.io.IOException

import io.tidemark.{NotedTimeErrors, TidemarkException}
import io.tidemark.core.noted.{Mark, Position}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Notes how far one writer is. Its life begins with its first mark. One thread uses it at a time.
  *
  * If the log is removed meanwhile, a new life begins with the next mark. It has a larger epoch also if the clock has gone
  * back: a reader that has passed marks of the life before looks for no smaller one.
  *
  * @param beginLife begins a life of the writer whose epoch is not below a number
  * @param clockMillis the present
  * @param warn tells the user what has happened to the log
  */
private[tidemark] final class MarkWriter private (
    location: String,
    val writer: String,
    beginLife: Long => WriterLife,
    clockMillis: () => Long,
    warn: String => Unit) {
  import MarkWriter._

  private var begun = Option.empty[WriterLife]
  private var leastEpoch = 0L
  private var number = 0L
  private var time = Option.empty[Long]
  private var isIdle = false
  private var hasPosition = false
  private var lastMillis = Long.MinValue / 2
  // The files of the last position that marks have listed already.
  private var listed = Set.empty[String]

  /** The largest time that is noted (ms), by this life or one before. */
  def timeMillis: Option[Long] = time

  /** Whether there is something to note: a time that is later than the last one, or a sign of life now and then.
    * @param noted the time, ms; `None` if there is none yet
    * @param idle whether readers may leave the writer out until its next mark
    */
  def isDue(noted: Option[Long], idle: Boolean): Boolean = isDue(noted, idle, present())

  private def isDue(noted: Option[Long], idle: Boolean, now: Long): Boolean =
    advances(noted) || idle != isIdle || !idle && now - lastMillis >= AliveMillis

  private def advances(noted: Option[Long]): Boolean = noted.exists(at => time.forall(_ < at))

  private def present(): Long = math.max(clockMillis(), 0L)

  /** States that all rows up to a time are before a position. A time that is no later than the last one says nothing new:
    * then the mark only says that the writer is alive, and is written now and then.
    *
    * @param noted the time, ms; `None` if there is none yet
    * @param idle whether readers may leave the writer out until its next mark
    * @param position asked only if a mark is written. A position of files has all files: the mark lists the new ones, and
    *   marks before it those that it has no room for
    * @throws java.io.IOException if the log cannot be written. The next mark carries this one along
    * @throws MarkWriter.Fenced if a later writer of the name has begun
    * @throws io.tidemark.TidemarkException if all other writers of the log have another kind of position
    */
  def note(noted: Option[Long], idle: Boolean, position: => Position): Unit = {
    val life = begin()
    val now = present()
    if (isDue(noted, idle, now)) {
      // Known before a new life begins: a log beside the rows is not made again while their folder is away.
      val at = position
      noteNow(counting(life), noted, idle, at, now)
    }
  }

  /** @param life a life that counts, and may have just begun */
  private def noteNow(life: WriterLife, noted: Option[Long], idle: Boolean, position: Position, now: Long): Unit =
    if (isDue(noted, idle, now)) {
      val isLater = advances(noted)
      val kind = if (idle) Mark.Idle else if (isLater) Mark.Note else Mark.Alive
      if (!hasPosition) requireSameKind(life, position)
      val positions = inMarks(position)
      positions.init.foreach(part => add(life, Mark.Alive, None, Some(part), now))
      add(life, kind, if (kind == Mark.Alive) None else noted.filter(_ => isLater), Some(positions.last), now)
      hasPosition = true
      time = if (isLater) noted else time
      isIdle = idle
    }

  /** One stray writer would stop all readers of the log. If only some have another kind, these are the stray ones. */
  private def requireSameKind(life: WriterLife, position: Position): Unit = {
    val (others, same) = life.others.span(_._2.kind != position.kind)
    for ((other, at) <- others.toSeq.headOption if same.isEmpty)
      throw new TidemarkException(
        NotedTimeErrors.MarkPositionMismatch(
          writer,
          position.kind,
          s"${at.kind}, as writer '$other' of $location notes it"))
  }

  /** This life, or a new one if the log was removed. */
  private def counting(life: WriterLife): WriterLife = life.standing match {
    case WriterLife.Current => life
    case WriterLife.Fenced => throw new Fenced(writer, location)
    case WriterLife.Removed =>
      warn(
        s"The marks of writer '$writer' in $location were removed while it was noting. It begins a new life there. " +
          "Readers that have used these marks continue with the new ones.")
      life.close()
      begun = None
      leastEpoch = life.epoch + 1
      begin()
  }

  private def inMarks(position: Position): Seq[Position] = position match {
    case Position.Files(all) =>
      // Files that were removed need no place in memory.
      listed = all & listed
      PositionText.parts(all -- listed).map(Position.Files)
    case absolute => Seq(absolute)
  }

  /** No more marks are written. */
  def close(): Unit = begun.foreach(_.close())

  private def begin(): WriterLife = begun.getOrElse {
    val now = present()
    val life = beginLife(math.max(now, leastEpoch))
    begun = Some(life)
    time = life.timeMillis
    listed = life.files
    number = 0L
    isIdle = false
    hasPosition = false
    add(life, Mark.Alive, None, None, now)
    life
  }

  private def add(life: WriterLife, kind: Mark.Kind, noted: Option[Long], at: Option[Position], now: Long): Unit = {
    val after = if (number == 0) life.last else None
    val mark = Mark(writer, life.epoch, number, kind, noted, now, at, after)
    // If it cannot be written now, it is written with the next one.
    number += 1
    listed ++= mark.files.getOrElse(Nil)
    life.add(mark)
    lastMillis = now
    life.standing match {
      case WriterLife.Current => ()
      case WriterLife.Fenced => throw new Fenced(writer, location)
      case WriterLife.Removed => throw new IOException(s"the files of writer '$writer' in $location were just removed")
    }
  }
}

private[tidemark] object MarkWriter {

  /** A writer of marks in a folder. */
  def inFolder(
      location: String,
      conf: => Configuration,
      writer: String,
      clockMillis: () => Long = () => System.currentTimeMillis(),
      warn: String => Unit = _ => ()): MarkWriter =
    new MarkWriter(location, writer, MarkLife.begin(new Path(location), conf, writer, _), clockMillis, warn)

  /** A writer of the marks of a stream in a topic. */
  def inTopic(
      location: String,
      topic: => MarksOfTopic,
      stream: String,
      writer: String,
      clockMillis: () => Long = () => System.currentTimeMillis(),
      warn: String => Unit = _ => ()): MarkWriter =
    new MarkWriter(location, writer, TopicLife.begin(topic, stream, writer, _), clockMillis, warn)

  /** Whether readers take marks of a writer with this name. */
  def isName(writer: String): Boolean = MarkFileName.encode(writer).length <= 160 && MarkText.isWriter(writer)

  /** How often a writer without news says that it is alive. */
  private val AliveMillis = 10000L

  /** Another process writes marks under the same name. */
  final class Fenced(writer: String, location: String)
      extends IOException(s"a later writer of the name '$writer' has begun in $location")
}
