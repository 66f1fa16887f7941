package org.apache.spark.sql.tidemark.batch

import io.tidemark.core.EventTimeUnits

import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec
import org.apache.spark.sql.tidemark.exec.eviction.{DueAggregationExec, WindowGrid, WindowSchedule}

/** What one run knows of the windows in an aggregation's state. Times are the first watermark (ms) by which a window ends.
  *
  * @param grid when they end; `None` if that is not known of all of them, so that each batch scans the state
  * @param nextMillis that of the next window, whether or not it is in state, if each is known and the batch had a watermark
  * @param firstMillis that of the first window in state, if it is known that there is one
  * @param isScanned whether the last batch has seen the whole state
  */
private[tidemark] final case class WindowState(
    grid: Option[WindowGrid],
    nextMillis: Option[Long],
    firstMillis: Option[Long],
    isScanned: Boolean) {

  /** The one that comes out first, as far as that is known. */
  def dueMillis: Option[Long] = firstMillis.orElse(nextMillis)

  /** The same after another batch. */
  def and(later: WindowState): WindowState = {
    val both = for (first <- grid; more <- later.grid) yield first ++ more
    val first = if (later.isScanned) later.firstMillis else (firstMillis ++ later.firstMillis).minOption
    WindowState(both, later.nextMillis.filter(_ => both.nonEmpty), first.filter(_ => both.nonEmpty), later.isScanned)
  }
}

private[tidemark] object WindowState {

  /** After one batch, from its plan. */
  def of(save: StateStoreSaveExec): WindowState = save match {
    case node: DueAggregationExec if !node.scan.hasWindowsOffGrid =>
      WindowState(
        Some(node.due.grid),
        Option.when(node.due.hasWatermark)(node.due.nextMillis),
        node.scan.firstMicros.map(EventTimeUnits.millisFrom),
        node.due.scan != WindowSchedule.Skipped)
    case _ => WindowState(None, None, None, isScanned = false)
  }
}
