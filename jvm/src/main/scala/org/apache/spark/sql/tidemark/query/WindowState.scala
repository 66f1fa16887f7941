package org.apache.spark.sql.tidemark.query

import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec
import org.apache.spark.sql.tidemark.exec.{DueAggregationExec, WindowGrid, WindowsDue}

/** What one run knows of the windows in an aggregation's state.
  *
  * @param grid when they end; `None` if that is not known of all of them, so that each batch scans the state
  * @param nextMillis the first watermark (ms) by which one of them ends, if each is known
  * @param skippedScans how many batches have not scanned the state
  */
private[tidemark] final case class WindowState(grid: Option[WindowGrid], nextMillis: Option[Long], skippedScans: Long) {

  /** The same after another batch. */
  def and(later: WindowState): WindowState = {
    val both = for (one <- grid; more <- later.grid) yield one ++ more
    WindowState(both, later.nextMillis.filter(_ => both.nonEmpty), skippedScans + later.skippedScans)
  }
}

private[tidemark] object WindowState {

  /** After one batch, from its plan. */
  def of(save: StateStoreSaveExec): WindowState = save match {
    case node: DueAggregationExec if !node.hasStrangers =>
      val skipped = if (node.due.scan == WindowsDue.Skipped) 1L else 0L
      WindowState(Some(node.due.grid), Some(node.due.nextMillis), skipped)
    case _ => WindowState(None, None, 0L)
  }
}
