package org.apache.spark.sql.tidemark.query

import io.tidemark.core.OriginName
import io.tidemark.core.memory.{BatchStart, OriginRules, WatermarkEntry}
import io.tidemark.core.noted.NotedWriters
import io.tidemark.core.splits.SplitState

/** The upper bound of a batch's time window. */
private object NotedAhead {

  /** The next time that is noted ahead by all writers of an input but those left out (ms).
    * @param entry that of the batch before; @param at when the batch is decided
    */
  def millis(
      entry: WatermarkEntry,
      at: BatchStart,
      rules: Map[OriginName, OriginRules],
      name: OriginName): Option[Long] = {
    val splits = entry.splitsAt(at, name, rules)
    val waitedFor = (0 until splits.size)
      .filter(splits.state(_) == SplitState.Active)
      .flatMap(splits.name(_).head)
      .toSet
    val writers =
      entry.origins.get(name).fold(NotedWriters.unchanged(Map.empty))(at => NotedWriters.unchanged(at.writers))
    // A writer that is expected and has never written a mark has noted nothing ahead.
    if (waitedFor.subsetOf(writers.writers.keySet)) writers.upperMillis(!waitedFor(_)) else None
  }
}
