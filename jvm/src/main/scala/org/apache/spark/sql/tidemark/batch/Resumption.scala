package org.apache.spark.sql.tidemark.batch

import io.tidemark.core.memory.{BatchStart, WatermarkEntry}

import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.log.EntryWriter

/** How a run continues from the runs before it. It does not keep their last entry, whose splits may be a million.
  *
  * @param firstBatch the batch that this run plans first
  * @param hasEntry whether the checkpoint has an entry of the batch before the first one. Without it, the run continues
  *   from an older entry or from Spark's watermark
  * @param runSinceMillis when the run began
  * @param downtime the time in which the query was not running; none if that time counts as silence
  * @param readsOnlyWhatWasThere whether the run reads the rows that had arrived when it began, and leaves later ones
  */
private[tidemark] final case class Resumption(
    firstBatch: Long,
    hasEntry: Boolean,
    runSinceMillis: Long,
    downtime: Option[Resumption.Downtime],
    readsOnlyWhatWasThere: Boolean) {

  /** Whether this run executes `batch`. Stock Spark may have executed an earlier batch, and evicted less, even if there is
    * an entry of it.
    */
  def hasRun(batch: Long): Boolean = batch >= firstBatch

  /** How much of the time of a batch the query was not running (ms): an earlier run may have begun the first batch. */
  def downtimeIn(batch: Long): Long = if (batch == firstBatch) downtime.fold(0L)(_.inFirstBatchMillis) else 0L

  /** Whether the time of this run may make an input idle. */
  def countsSilence: Boolean = Resumption.countsSilence(readsOnlyWhatWasThere, downtimeIsSilence = downtime.isEmpty)

  /** How much of the time of a batch the query could not have seen rows arrive (ms). A run that leaves later rows sees none
    * arrive: its own time is not silence either, however long it takes.
    *
    * @param sinceMillis when the batch before ended
    */
  def missedIn(batch: Long, sinceMillis: Long, endMillis: Long): Long =
    if (countsSilence) downtimeIn(batch) else math.max(0L, endMillis - sinceMillis)

  /** From when on a pause of a whole input is not silence of its splits (ms). */
  def pausesSinceMillis: Long = if (downtime.isEmpty) runSinceMillis else Long.MinValue

  /** What the trigger has listened to that decides a batch first. The first batch of a run comes with the first rows, so there
    * were none before it.
    */
  def listened(batch: Long, start: BatchStart): BatchStart =
    if (batch == firstBatch && downtime.nonEmpty) BatchStart.at(start.millis) else start
}

private[tidemark] object Resumption {

  /** Whether the time of a run may make an input idle. A run that leaves later rows sees none arrive. */
  def countsSilence(readsOnlyWhatWasThere: Boolean, downtimeIsSilence: Boolean): Boolean =
    !readsOnlyWhatWasThere || downtimeIsSilence

  /** @param untilMillis when the first batch was begun: stock Spark may have run the query before
    * @param inFirstBatchMillis how long the query was not running after that: an earlier run may have begun the first batch
    */
  final case class Downtime(untilMillis: Long, inFirstBatchMillis: Long)

  /** The first batch of a run, in Spark's own log.
    *
    * @param previousMillis the query's watermark in the batch before (0: none)
    * @param currentMillis the query's watermark for this batch: the floor of every origin whose own watermark is lost
    */
  final case class FirstBatch(id: Long, previousMillis: Long, currentMillis: Long)

  /** Reads what the checkpoint has: the memory after the batch before the first one, and how the run continues from it.
    *
    * @param own the entry of the batch before the first one, if there is one
    * @param begunAt when a batch was begun (ms), by Spark's own log. An entry with another time is stale: it belongs to
    *   another query, or stock Spark has run its batch again after the checkpoint was set back
    */
  def read(
      log: EntryWriter,
      own: Option[WatermarkEntry],
      origins: OriginsOfPlan,
      first: FirstBatch,
      runSinceMillis: Long,
      downtime: Option[Downtime],
      readsOnlyWhatWasThere: Boolean,
      begunAt: Long => Option[Long]): (WatermarkEntry, Resumption) = {
    def isCurrent(entry: WatermarkEntry) = entry.isOf(begunAt(entry.batch))
    def raisedTo(floor: WatermarkEntry)(older: WatermarkEntry) =
      downtime.foldLeft(older.raisedTo(floor))((entry, down) => entry.listeningFrom(down.untilMillis))
    def counts(sparkMillis: Long) = own.fold(sparkMillis)(_.countsOf(sparkMillis))
    val floor =
      WatermarkEntry.initial(origins.names, first.id - 1, counts(first.previousMillis), counts(first.currentMillis))
    val entry = own match {
      case Some(own) => own.withOriginsOf(floor)
      case None if first.id == 0 => floor
      case None => log.newestBefore(first.id - 1).filter(isCurrent).fold(floor)(raisedTo(floor))
    }
    origins.exchanged.foldLeft(entry)(_.leveled(_)).fitting(origins.rules) ->
      Resumption(first.id, own.nonEmpty, runSinceMillis, downtime, readsOnlyWhatWasThere)
  }
}
