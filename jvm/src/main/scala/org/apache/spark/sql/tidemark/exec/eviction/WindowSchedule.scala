package org.apache.spark.sql.tidemark.exec.eviction

import java.time.Instant
import java.time.temporal.ChronoUnit

import io.tidemark.core.EventTimeUnits

/** When windows of an aggregation are due, in one batch.
  *
  * @param keyOrdinal which of the grouping keys is the window
  * @param grid when windows in its state end
  * @param evictedMicros up to where this batch evicts (µs since the epoch)
  * @param nextMicros the first end of a window after that
  * @param scan how this batch scans the state
  * @param hasWatermark whether the batch evicts by a watermark. If not, `evictedMicros` is Spark's 0
  * @param runsOnlyWhenDue whether a no-data batch is run only for a window that is due. If some other operator needs the
  *   watermarks that such batches bring, each advance asks for one, as in stock Spark
  */
private[tidemark] final case class WindowSchedule(
    keyOrdinal: Int,
    grid: WindowGrid,
    evictedMicros: Long,
    nextMicros: Long,
    scan: WindowSchedule.Scan,
    hasWatermark: Boolean,
    runsOnlyWhenDue: Boolean) {

  /** Whether a no-data batch with this watermark (ms) is of use. */
  def isAskedFor(watermarkMillis: Long): Boolean = !runsOnlyWhenDue || nextMillis <= watermarkMillis

  /** The first watermark (ms) by which a window has ended. */
  def nextMillis: Long = EventTimeUnits.millisFrom(nextMicros)

  override def toString: String = {
    val next = Instant.EPOCH.plus(nextMicros, ChronoUnit.MICROS)
    if (!hasWatermark) "next window due: unknown, no watermark yet"
    else if (scan == WindowSchedule.Skipped) s"no window due until $next" else s"next window due at $next"
  }
}

private[tidemark] object WindowSchedule {

  /** How a batch scans the state. */
  sealed trait Scan

  /** Nothing in state is due. */
  case object Skipped extends Scan

  /** A window may be due. */
  case object Whole extends Scan

  /** The first scan of a run also looks for windows that do not end with the others. An earlier run may have left them, if
    * the query had windows of another size then.
    */
  case object First extends Scan
}
