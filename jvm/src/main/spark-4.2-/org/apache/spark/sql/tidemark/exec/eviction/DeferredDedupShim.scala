package org.apache.spark.sql.tidemark.exec.eviction

import org.apache.spark.sql.execution.streaming.operators.stateful.StreamingDeduplicateExec
import org.apache.spark.sql.execution.streaming.state.StateStore

/** A deduplication that evicts nothing. Spark 4.3 gave the method another name. */
private[exec] trait DeferredDedupShim extends StreamingDeduplicateExec {
  override protected def evictDupInfoFromState(store: StateStore): Unit = ()
}
