package org.apache.spark.sql.tidemark.exec

import org.apache.spark.TaskContext
import org.apache.spark.util.AccumulatorV2

/** Late rows of one operator's input, counted where they arrive, before any aggregation.
  *
  * @param mostMillis how far the latest of them was behind the watermark (ms); for a window, its end
  */
private[tidemark] final case class LateRows(rows: Long, mostMillis: Long) {
  def +(that: LateRows): LateRows = LateRows(rows + that.rows, math.max(mostMillis, that.mostMillis))
}

private[tidemark] object LateRows {
  val none: LateRows = LateRows(0L, 0L)

  /** The late rows of one task, in plain fields. */
  final class OfTask(into: Accumulator) {
    private var rows = 0L
    private var most = 0L

    /** @param behindMicros how far the row's event time is behind the watermark (µs) */
    def add(behindMicros: Long): Unit = {
      rows += 1
      if (behindMicros > most) most = behindMicros
    }

    private[tidemark] def flush(partition: Int): Unit =
      if (rows > 0) into.add(partition -> LateRows(rows, most / 1000L))
  }

  /** Brings the counts to the driver by partition, so that a task or a stage that runs twice counts once. */
  final class Accumulator extends AccumulatorV2[(Int, LateRows), LateRows] {
    // Replaced rather than changed: heartbeats read it while the task runs.
    @volatile private var parts = Map.empty[Int, LateRows]

    def begin(): OfTask = {
      val seen = new OfTask(this)
      Option(TaskContext.get()).foreach(task =>
        task.addTaskCompletionListener[Unit](_ => seen.flush(task.partitionId())))
      seen
    }

    /** Adds the count of one partition; a task may have several partitions of its input. */
    override def add(seen: (Int, LateRows)): Unit =
      parts = parts.updated(seen._1, parts.getOrElse(seen._1, none) + seen._2)

    override def merge(other: AccumulatorV2[(Int, LateRows), LateRows]): Unit = other match {
      case that: Accumulator =>
        parts ++= that.parts.filter { case (partition, late) => late.rows > parts.getOrElse(partition, none).rows }
      case _ => throw new UnsupportedOperationException(s"cannot merge with ${other.getClass.getName}")
    }

    override def value: LateRows = parts.values.foldLeft(none)(_ + _)
    override def isZero: Boolean = parts.isEmpty
    override def reset(): Unit = parts = Map.empty
    override def copy(): Accumulator = {
      val same = new Accumulator
      same.parts = parts
      same
    }
  }

  /** The late rows of an operator's input since the query was started.
    *
    * @param last those of the last batch that had any, whose number is `lastBatch`
    */
  final case class Total(all: LateRows, last: LateRows, lastBatch: Long)
}
