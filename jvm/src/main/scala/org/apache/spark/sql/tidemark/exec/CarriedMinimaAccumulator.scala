package org.apache.spark.sql.tidemark.exec

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.tidemark.core.EventTimeUnits
import io.tidemark.core.memory.CarriedMinima

import org.apache.spark.sql.tidemark.exec.clocks.TaskCollector
import org.apache.spark.util.AccumulatorV2

/** The smallest value of each carried column, per bucket of the active column's time, over the rows of one batch.
  *
  * A task that runs twice changes no minimum. The value is replaced rather than changed, because an executor sends it
  * with its heartbeats while the task still runs.
  */
private[tidemark] final class CarriedMinimaAccumulator(widthMillis: Long, columns: Int)
    extends AccumulatorV2[CarriedMinima, CarriedMinima] {
  @volatile private var ledger = CarriedMinima(widthMillis, TreeMap.empty)

  /** The minima of this task; they are merged into the accumulator when the task ends. */
  def begin(): TaskCarriedMinima = {
    val values = new TaskCarriedMinima(widthMillis, columns)
    TaskCollector.begin(values)(_ => add(values.ledger))
  }

  override def value: CarriedMinima = ledger
  override def add(more: CarriedMinima): Unit = if (more.buckets.nonEmpty) ledger = ledger.add(more)
  override def merge(other: AccumulatorV2[CarriedMinima, CarriedMinima]): Unit = add(other.value)
  override def isZero: Boolean = ledger.buckets.isEmpty
  override def reset(): Unit = ledger = CarriedMinima(widthMillis, TreeMap.empty)
  override def copy(): CarriedMinimaAccumulator = {
    val same = new CarriedMinimaAccumulator(widthMillis, columns)
    same.ledger = ledger
    same
  }
}

/** Carried values of one task. A row in the same bucket as the row before costs a comparison and no allocation. */
private[tidemark] final class TaskCarriedMinima(width: Long, columns: Int) {
  private var widthMillis = width
  private var buckets = mutable.LongMap.empty[Array[Long]]
  private var currentEnd = 0L
  private var current: Array[Long] = null

  /** Selects the bucket of a row by the time (µs) of its active column. */
  def bucket(micros: Long): Unit = {
    val end = CarriedMinima.bucketEnd(EventTimeUnits.millisFrom(micros), widthMillis)
    if (current == null || end != currentEnd) {
      currentEnd = end
      current = buckets.getOrNull(end)
      if (current == null) {
        current = Array.fill(columns)(Long.MaxValue)
        buckets.update(end, current)
        if (buckets.size > CarriedMinima.MaxBuckets) widen(micros)
      }
    }
  }

  /** Records the value (µs) of the `index`-th carried column of that row. */
  def observe(index: Int, micros: Long): Unit = {
    val millis = EventTimeUnits.millis(micros)
    if (millis < current(index)) current(index) = millis
  }

  def ledger: CarriedMinima = CarriedMinima(
    widthMillis,
    TreeMap.from(buckets.iterator.map { case (end, values) =>
      end -> values.iterator.map(v => if (v == Long.MaxValue) None else Some(v)).toVector
    }))

  private def widen(micros: Long): Unit = {
    val wider = ledger.add(CarriedMinima(widthMillis * 2, TreeMap.empty))
    widthMillis = wider.widthMillis
    buckets = mutable.LongMap.from(wider.buckets.iterator.map { case (end, values) =>
      end -> values.iterator.map(_.getOrElse(Long.MaxValue)).toArray
    })
    current = null
    bucket(micros)
  }
}
