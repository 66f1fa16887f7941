package io.tidemark.core.memory

import io.tidemark.core.noted.WriterState

/** Which writers of a noted origin are left out, beside those that are idle by [[Silence]]:
  *
  *   1. A writer that has ended or is idle by its last mark is left out: rule 8 of `docs/noted-time/format.md`. When all have
  *      ended, the watermark advances to the largest clock, because no rows follow.
  *   1. A writer is left out if it has stalled by the log's own time: another writer has said something `idle_after` or
  *      more later, and this one has nothing ahead. So a replay leaves out the same writers as the live query did, however
  *      fast it reads. The log's time is that of its store, and no later than that of the batch. Where a log has the clocks of
  *      hosts, no writer counts as stalled.
  *   1. If all writers are idle or have stalled, they hold the watermark, and the origin is idle as a whole.
  */
private[core] object LeftOutWriters {

  /** @param nowMillis the batch's processing time */
  def of(state: OriginState, rules: OriginRules, nowMillis: Long): OriginState =
    if (state.writers.isEmpty) state
    else {
      val stalledBy = rules.idleAfterMillis.map(lastNews(state.writers.values, nowMillis) - _)
      def isStalled(writer: WriterState) =
        writer.isDated && !writer.hasPending && stalledBy.exists(writer.lastActiveMillis <= _)
      val (ended, others) = state.writers.partition(_._2.isEnded)
      val idle = others.filter { case (_, writer) => writer.isIdle || isStalled(writer) }
      val withoutEnded = state.splits.resting(names(ended))
      val without = withoutEnded.resting(names(idle))
      if (idle.isEmpty || without.active > 0) state.copy(splits = without)
      else state.copy(splits = withoutEnded, silent = true)
    }

  private def lastNews(writers: Iterable[WriterState], nowMillis: Long): Long =
    math.min(
      writers.filter(writer => writer.isDated && writer.passed.nonEmpty).map(
        _.lastActiveMillis).maxOption.getOrElse(Long.MinValue),
      nowMillis)

  private def names(writers: Map[String, WriterState]): Seq[Array[Byte]] = writers.keys.map(OriginState.split).toSeq
}
