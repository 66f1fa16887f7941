package org.apache.spark.sql.tidemark.exec

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.tidemark.core.Ledger

import org.apache.spark.TaskContext
import org.apache.spark.util.AccumulatorV2

/** The smallest value of each carried column, per bucket of the active column's time, over the rows of one batch.
  *
  * Minima: a task that runs twice changes nothing. What it holds is replaced and never changed, because an executor sends
  * it along with its heartbeats while the task is still at work.
  */
private[tidemark] final class CarriedNotes(widthMillis: Long, columns: Int) extends AccumulatorV2[Ledger, Ledger] {
  @volatile private var ledger = Ledger(widthMillis, TreeMap.empty)

  /** The notes of this task; they are handed over when it ends. */
  def begin(): CarriedValues = {
    val values = new CarriedValues(widthMillis, columns)
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => add(values.ledger)))
    values
  }

  override def value: Ledger = ledger
  override def add(more: Ledger): Unit = if (more.buckets.nonEmpty) ledger = ledger.add(more)
  override def merge(other: AccumulatorV2[Ledger, Ledger]): Unit = add(other.value)
  override def isZero: Boolean = ledger.buckets.isEmpty
  override def reset(): Unit = ledger = Ledger(widthMillis, TreeMap.empty)
  override def copy(): CarriedNotes = {
    val same = new CarriedNotes(widthMillis, columns)
    same.ledger = ledger
    same
  }
}

/** Carried values of one task. Between buckets that follow one another a row costs a comparison and no allocation. */
private[tidemark] final class CarriedValues(width: Long, columns: Int) {
  private var widthMillis = width
  private var buckets = mutable.LongMap.empty[Array[Long]]
  private var currentEnd = 0L
  private var current: Array[Long] = null

  /** Chooses the bucket of a row by the time (µs) of its active column. */
  def bucket(micros: Long): Unit = {
    val end = Ledger.bucketEnd(Math.floorDiv(micros + 999L, 1000L), widthMillis)
    if (current == null || end != currentEnd) {
      currentEnd = end
      current = buckets.getOrNull(end)
      if (current == null) {
        current = Array.fill(columns)(Long.MaxValue)
        buckets.update(end, current)
        if (buckets.size > Ledger.MaxBuckets) widen(micros)
      }
    }
  }

  /** Notes the value (µs) of the `index`-th carried column of that row. */
  def note(index: Int, micros: Long): Unit = {
    val millis = Math.floorDiv(micros, 1000L)
    if (millis < current(index)) current(index) = millis
  }

  def ledger: Ledger = Ledger(
    widthMillis,
    TreeMap.from(buckets.iterator.map { case (end, values) =>
      end -> values.iterator.map(v => if (v == Long.MaxValue) None else Some(v)).toVector
    }))

  private def widen(micros: Long): Unit = {
    val wider = ledger.add(Ledger(widthMillis * 2, TreeMap.empty))
    widthMillis = wider.widthMillis
    buckets = mutable.LongMap.from(wider.buckets.iterator.map { case (end, values) =>
      end -> values.iterator.map(_.getOrElse(Long.MaxValue)).toArray
    })
    current = null
    bucket(micros)
  }
}
