package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{Input, OperatorId}
import io.tidemark.core.plan.OperatorWatermarks

/** Whether expired state may wait for a later batch, where no row can tell.
  *
  * A look through the state costs the same, however few rows have expired. It pays when a share of what is kept has.
  *
  * @param share of the kept rows that may have expired, from 0 to 1
  * @param rows how many rows each operator has had in state after the last batch
  * @param evictedMillis up to where this run has evicted each input's state (ms)
  */
private[tidemark] final case class EvictionSlack(
    share: Double,
    rows: Map[OperatorId, Long],
    evictedMillis: Map[Input, Long]) {

  /** Whether the state of that input may be left as it is in this batch.
    * @param delayMillis the delay of its watermark: so far ahead of it the newest rows are
    */
  def mayWait(input: Input, watermarks: OperatorWatermarks, delayMillis: Long): Boolean = {
    val waits = for {
      before <- evictedMillis.get(input)
      kept <- rows.get(input.operator) if kept >= EvictionSlack.FewRows
      now <- watermarks.inputs.get(input)
      evicted <- now.evicted
    } yield {
      val newest = math.max(now.input.watermark.sparkMillis, evicted.watermark.sparkMillis) + delayMillis
      // Both are lengths of event time, in which rows are taken to be spread evenly.
      evicted.watermark.sparkMillis - before < share * (newest - before)
    }
    waits.getOrElse(false)
  }
}

private[tidemark] object EvictionSlack {

  /** Fewer rows are looked through at no cost to speak of. */
  val FewRows = 10000L
}
