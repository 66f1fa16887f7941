package org.apache.spark.sql.tidemark.batch

import io.tidemark.core.noted.{NotedWriters, WriterState}
import io.tidemark.core.splits.{Splits, SplitState}

/** The upper bound of a batch's time window. */
private[tidemark] object NotedAhead {

  /** The next time that is noted ahead by all writers of an input but those left out (ms).
    * @param splits the writers when the batch is decided
    * @param writers how far the marks of each were passed when the batch before had ended
    */
  def millis(splits: Splits, writers: Map[String, WriterState]): Option[Long] = {
    val waitedFor = (0 until splits.size)
      .filter(splits.state(_) == SplitState.Active)
      .flatMap(splits.name(_).head)
      .toSet
    // A writer that is expected and has never written a mark has noted nothing ahead.
    if (waitedFor.subsetOf(writers.keySet)) NotedWriters.unchanged(writers).upperMillis(!waitedFor(_)) else None
  }
}
