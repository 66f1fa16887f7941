package org.apache.spark.sql.tidemark.batch

import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec
import org.apache.spark.sql.tidemark.exec.eviction.{DueAggregationExec, WindowGrid}

/** What one run knows of the windows in an aggregation's state.
  *
  * @param grid when they end; `None` if that is not known of all of them, so that each batch scans the state
  * @param nextMillis the first watermark (ms) by which one of them ends, if each is known and the batch had a watermark
  */
private[tidemark] final case class WindowState(grid: Option[WindowGrid], nextMillis: Option[Long]) {

  /** The same after another batch. */
  def and(later: WindowState): WindowState = {
    val both = for (first <- grid; more <- later.grid) yield first ++ more
    WindowState(both, later.nextMillis.filter(_ => both.nonEmpty))
  }
}

private[tidemark] object WindowState {

  /** After one batch, from its plan. */
  def of(save: StateStoreSaveExec): WindowState = save match {
    case node: DueAggregationExec if !node.hasWindowsOffGrid =>
      WindowState(Some(node.due.grid), Option.when(node.due.hasWatermark)(node.due.nextMillis))
    case _ => WindowState(None, None)
  }
}
