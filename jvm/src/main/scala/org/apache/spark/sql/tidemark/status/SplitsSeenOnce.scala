package org.apache.spark.sql.tidemark.status

import scala.collection.mutable

import io.tidemark.core.OriginName

/** Finds inputs of which nearly every split has rows in one batch and never again, as with a split for each id of an event.
  * Without an idle time, the first of these splits holds the watermark forever. It belongs to the query's thread.
  *
  * A batch costs a scan of the splits only if it has brought many new ones.
  */
private[tidemark] final class SplitsSeenOnce {
  import SplitsSeenOnce._

  private val batches = mutable.HashMap.empty[OriginName, Int]
  private val lastActive = mutable.HashMap.empty[OriginName, Long]

  /** @param before the inputs after the batch before
    * @return the inputs that are split so, each with the number of its splits
    */
  def after(before: Map[OriginName, QueryView.Totals], batch: QueryView.Planned): Map[OriginName, Int] = {
    val found = for {
      origin <- batch.origins.all if origin.rules.splitBy.nonEmpty
      totals <- before.get(origin.name)
      splits = batch.snapshot.entry.splitsOf(origin.name)
      latest <- splits.lastActiveOfAll
    } yield {
      if (lastActive.put(origin.name, latest).forall(_ < latest)) {
        val fresh = splits.size - totals.splits
        val isNearlyAll = fresh >= FewSplits && fresh * 10L >= splits.countLastActive(latest) * 9L
        batches(origin.name) = if (isNearlyAll) batches.getOrElse(origin.name, 0) + 1 else 0
      }
      origin.name -> splits.size
    }
    found.filter { case (name, _) => batches.get(name).exists(_ >= LastsBatches) }.toMap
  }
}

private[tidemark] object SplitsSeenOnce {
  private val FewSplits = 20
  private val LastsBatches = 5
}
