package io.tidemark.core.support

import scala.collection.mutable
import scala.util.Random

import io.tidemark.core.noted._

/** Writers with rows in flight, which note their times. The model knows every row that is ever written, so it can say what
  * no reader can: whether a row that has not been read is late.
  */
final class MarkModel(chance: Random, steps: Int = 60) {
  import MarkModel._

  /** Rows that readers can see, by partition, in the order of their offsets. */
  val rows: IndexedSeq[mutable.ArrayBuffer[Row]] = IndexedSeq.fill(Partitions)(mutable.ArrayBuffer.empty)

  /** In the order in which they were written; those of lives that were fenced off are false. */
  val marks: mutable.ArrayBuffer[Mark] = mutable.ArrayBuffer.empty

  private final class Writer(name: String) {
    private var epoch = 0L
    private var number = 0L
    private var floor = 0L
    private var last = Option.empty[MarkId]
    private val buffer = mutable.ArrayBuffer.empty[(Int, Row)]
    private var ends: Seq[Long] = Seq.fill(Partitions)(0L)

    begin()

    def step(): Unit = chance.nextDouble() match {
      case p if p < 0.45 => buffer += ((chance.nextInt(Partitions), Row(name, floor + 1 + chance.nextInt(100))))
      case p if p < 0.6 => flush(chance.nextInt(buffer.size + 1))
      case p if p < 0.9 => note()
      case p if p < 0.93 => write(Mark.Alive, None, None)
      case _ => begin(); zombie()
    }

    def flush(count: Int): Unit = {
      val going = chance.shuffle(buffer.toSeq).take(count)
      buffer --= going
      going.foreach { case (partition, row) => rows(partition) += row }
      val mine = going.map { case (partition, _) => partition }.toSet
      ends = ends.zipWithIndex.map { case (end, at) => if (mine(at)) rows(at).size.toLong else end }
    }

    def flushAll(): Unit = flush(buffer.size)

    /** All rows up to a time are flushed; rows behind it may stay in flight. */
    private def note(): Unit = {
      val time = floor + chance.nextInt(61)
      val staying = buffer.filter { case (_, row) => row.time > time && chance.nextBoolean() }.toSeq
      buffer --= staying
      flushAll()
      buffer ++= staying
      floor = time
      // Either exactly where its rows end, or further: the end of the partition.
      if (chance.nextBoolean()) ends = rows.map(_.size.toLong)
      write(Mark.Note, Some(time), Some(Position.Kafka(Map(Topic -> ends.indices.zip(ends).toMap))))
    }

    /** Killed: what was in flight is sent again by the next life, with the same times. */
    private def begin(): Unit = {
      epoch += 1
      number = 0
      write(Mark.Alive, None, None)
    }

    private def write(kind: Mark.Kind, time: Option[Long], position: Option[Position]): Unit = {
      marks += Mark(name, epoch, number, kind, time, 0, position, after = if (number == 0) last else None)
      last = Some(marks.last.place)
      number += 1
    }

    /** A false mark of a life that was replaced, as a program would write it that does not look. */
    private def zombie(): Unit =
      marks += Mark(
        name,
        epoch - 1,
        1000 + chance.nextInt(10),
        Mark.Note,
        Some(chance.nextInt(10000).toLong),
        0,
        Some(Position.Kafka(Map(Topic -> Map.empty))))
  }

  private val writers = Seq.tabulate(1 + chance.nextInt(3))(at => new Writer(s"w$at"))
  (1 to steps).foreach(_ => writers(chance.nextInt(writers.size)).step())
  writers.foreach(_.flushAll())

  /** Positions of a reader that only moves on, from the beginning to the end. */
  def reads: Seq[IndexedSeq[Int]] = {
    val ends = rows.map(_.size)
    val found = Iterator.iterate(ends.map(_ => 0))(_.zip(ends).map { case (at, end) =>
      math.min(end, at + Seq(0, 1, 3)(chance.nextInt(3)))
    })
    found.takeWhile(_ != ends).toSeq :+ ends
  }

  /** Rows of a writer behind a position that are late by a time. */
  def late(read: Seq[Int], writer: String, time: Long): Seq[Row] =
    rows.zip(read).flatMap { case (all, at) => all.drop(at) }.filter(row => row.writer == writer && row.time <= time)
}

object MarkModel {
  val Partitions = 3
  val Topic = "t"

  final case class Row(writer: String, time: Long)

  def position(read: Seq[Int]): SourcePosition =
    SourcePosition.Kafka(Map(Topic -> read.indices.zip(read.map(_.toLong)).toMap))

  def histories(marks: Iterable[Mark]): Map[String, WriterHistory] =
    marks.groupBy(_.writer).map { case (writer, all) => writer -> WriterHistory(writer, all) }

  /** Whether a reader cannot know of a life without this mark. */
  def isFirst(mark: Mark): Boolean = mark.number == 0
}
