package org.apache.spark.sql.tidemark

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.tidemark.core.Ledger

import org.apache.spark.util.AccumulatorV2

/** The smallest value of each carried column, per bucket of the active column's time, over the rows of one batch.
  *
  * Minima: a task that runs twice changes nothing. Between buckets that follow one another a row costs a comparison
  * and no allocation.
  */
private[tidemark] final class CarriedNotes(width: Long, columns: Int) extends AccumulatorV2[Ledger, Ledger] {
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

  private def widen(micros: Long): Unit = {
    val wider = value.add(Ledger(widthMillis * 2, TreeMap.empty))
    reset()
    merge(wider)
    bucket(micros)
  }

  override def value: Ledger = Ledger(
    widthMillis,
    TreeMap.from(buckets.iterator.map { case (end, values) =>
      end -> values.iterator.map(v => if (v == Long.MaxValue) None else Some(v)).toVector
    }))

  override def add(ledger: Ledger): Unit = merge(value.add(ledger))

  private def merge(ledger: Ledger): Unit = {
    widthMillis = ledger.widthMillis
    buckets = mutable.LongMap.from(ledger.buckets.iterator.map { case (end, values) =>
      end -> values.iterator.map(_.getOrElse(Long.MaxValue)).toArray
    })
    current = null
  }

  override def merge(other: AccumulatorV2[Ledger, Ledger]): Unit = add(other.value)
  override def isZero: Boolean = buckets.isEmpty
  override def reset(): Unit = {
    widthMillis = width
    buckets = mutable.LongMap.empty
    current = null
  }
  override def copy(): CarriedNotes = {
    val same = new CarriedNotes(width, columns)
    same.merge(value)
    same
  }
}
