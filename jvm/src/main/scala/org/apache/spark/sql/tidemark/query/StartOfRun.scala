package org.apache.spark.sql.tidemark.query

import scala.util.Try

import io.tidemark.core.memory.{OriginSources, WatermarkEntry}

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.batch.Resumption
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.log.{BatchOffsets, EntryWriter}
import org.apache.spark.sql.tidemark.session.SessionConf
import org.apache.spark.sql.tidemark.status.QueryView
import org.apache.spark.sql.tidemark.stream.{RunStart, SparkInternals}

/** What is found when a run starts, before its first batch is planned.
  *
  * @param sinceMillis when the run started, by the query's clock
  * @param lastBegun the last batch that an earlier run has begun
  * @param origins those of the query's plan. If the plan has an error, the query fails with it when it is planned
  */
private[tidemark] final class StartOfRun private (
    execution: MicroBatchExecution,
    val sinceMillis: Long,
    lastBegun: Option[Long],
    val origins: Try[OriginsOfPlan],
    val entries: EntryWriter) {

  /** Whether the last batch of the earlier run has ended, and has an entry. An entry that cannot be read is refused when the
    * query is planned.
    */
  lazy val hasEntry: Boolean =
    lastBegun.exists { batch =>
      execution.commitLog.getLatestBatchId().contains(batch) && Try(entryOf(batch)).toOption.flatten.nonEmpty
    }

  /** When the run began that has begun a batch (ms); `None` if the time before it counts as silence. A batch that is run again
    * is decided by the same time, as it is in Spark's own log.
    */
  private def runOf(batch: Long): Option[Long] = if (isRunAgain(batch)) RunStart.of(execution, batch) else ownStart

  private lazy val ownStart: Option[Long] = Option.unless(isDowntimeSilence)(sinceMillis)

  /** Has Spark's log say of each batch that this run begins when the run began. Called before Spark writes the first one. */
  def noteStart(): Unit = ownStart.foreach(RunStart.note(execution, _))

  /** An entry for the batch after it, which this run begins: another run may have written it, before this one began. */
  def listening(entry: WatermarkEntry): WatermarkEntry = ownStart.foldLeft(entry)(_.listeningFrom(_))

  /** Whether an earlier run had planned this batch. Its decision is then taken from the entry. */
  def isRunAgain(batch: Long): Boolean = lastBegun.exists(_ >= batch)

  /** When a batch was begun (ms), by Spark's own log. */
  def begunAt(batch: Long): Option[Long] = StartOfRun.begunAt(execution, batch)

  /** The entry that the batch after `batch` is decided from: no split was silent while the query was not running. That is so
    * without an idle time too, because a later run may have one. The file stays as it is.
    * @throws TidemarkException if there is one that cannot be read
    */
  def entryOf(batch: Long): Option[WatermarkEntry] =
    if (batch < 0) None
    else
      entries.read(batch).filter(isCurrent).orElse(movedTo(batch)).map { entry =>
        runOf(batch + 1).foldLeft(entry)(_.listeningFrom(_))
      }

  /** The newest entry as that of a later batch, if the batches since then have read nothing. Tidemark did not run them: Spark
    * commits such a batch when it gives the state another number of partitions.
    */
  private def movedTo(batch: Long): Option[WatermarkEntry] =
    for {
      entry <- entries.newestBefore(batch) if isCurrent(entry) && readNothing(entry.batch, batch)
      millis <- begunAt(batch)
    } yield entry.copy(batch = batch, timestampMillis = millis)

  private def readNothing(after: Long, upTo: Long): Boolean = {
    val ends = (after to upTo).map(execution.offsetLog.get(_).map { batch =>
      BatchOffsets.of(batch).map { case (source, end) => source -> end.map(_.json) }
    })
    // Stock Spark's own batches without data have evicted state by its watermark, so they count.
    ends.forall(end => end.nonEmpty && end == ends.head) &&
    (after until upTo).forall(batch => partitions(batch) != partitions(batch + 1))
  }

  /** How many partitions the state has in a batch, by Spark's own log. */
  private def partitions(batch: Long): Option[String] =
    execution.offsetLog.offsetSeqMetadataForBatchId(batch).flatMap(_.conf.get(SQLConf.SHUFFLE_PARTITIONS.key))

  private def isCurrent(entry: WatermarkEntry): Boolean = StartOfRun.isCurrent(execution, entry)

  // If the setting has an error, the query fails with it.
  private def isDowntimeSilence: Boolean =
    Try(SessionConf.downtimeIsSilence(SparkInternals.session(execution).sessionState.conf)).getOrElse(false)

  private def noDataBatches: Boolean =
    SparkInternals.session(execution).sessionState.conf.getConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED)

  /** What the checkpoint has of the query. What cannot be read is refused when the query is planned. */
  private def recall(): Option[QueryView.RestoredEntry] = Try {
    val known = origins.get
    val last = execution.commitLog.getLatestBatchId()
    val entry = last.flatMap(entryOf)
    // A checkpoint that only stock Spark has written so far has only Spark's own log.
    def floor = {
      val millis = last.flatMap(execution.offsetLog.offsetSeqMetadataForBatchId(_)).fold(0L)(_.batchWatermarkMs)
      WatermarkEntry.initial(known.names, last.getOrElse(-1L), millis, millis)
    }
    val restored = known.exchanged.foldLeft(entry.getOrElse(floor))(_.leveled(_))
    QueryView.RestoredEntry(
      restored.fitting(known.rules),
      known,
      isRestart = lastBegun.nonEmpty,
      Resumption.countsSilence(SparkInternals.isForWhatIsAvailable(execution), isDowntimeSilence),
      beginsWithDue = entry.nonEmpty && noDataBatches && BeyondSpark.isUsed(known, execution.analyzedPlan))
  }.toOption
}

private[tidemark] object StartOfRun {

  /** Called on the query's thread, before its first batch is planned. It writes nothing. */
  def of(execution: MicroBatchExecution): QueryLife.Started = {
    val state = SparkInternals.session(execution).sessionState
    val entries =
      new EntryWriter(
        new Path(execution.resolvedCheckpointRoot),
        state.newHadoopConf(),
        state.conf.minBatchesToRetain)
    val start =
      new StartOfRun(
        execution,
        execution.triggerClock.getTimeMillis(),
        execution.offsetLog.getLatestBatchId(),
        Try(OriginsOfPlan.of(execution.analyzedPlan, state.conf, sources(execution, entries))),
        entries)
    QueryLife.Started(start, start.recall())
  }

  private def begunAt(execution: MicroBatchExecution, batch: Long): Option[Long] =
    execution.offsetLog.offsetSeqMetadataForBatchId(batch).map(_.batchTimestampMs)

  private def isCurrent(execution: MicroBatchExecution, entry: WatermarkEntry): Boolean =
    entry.isOf(begunAt(execution, entry.batch))

  /** What the origins of the last entry read. An entry that cannot be read is refused when the query is planned. */
  private def sources(execution: MicroBatchExecution, entries: EntryWriter): OriginSources.Known = Try {
    for {
      batch <- execution.commitLog.getLatestBatchId()
      entry <- entries.read(batch).orElse(entries.newestBefore(batch)) if isCurrent(execution, entry)
    } yield entry.origins.map { case (name, state) => name -> state.sources }
  }.toOption.flatten.getOrElse(Map.empty)
}
