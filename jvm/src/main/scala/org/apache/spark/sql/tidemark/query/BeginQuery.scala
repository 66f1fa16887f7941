package org.apache.spark.sql.tidemark.query

import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.why.Situation

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes
import org.apache.spark.sql.execution.streaming.ProcessingTimeTrigger
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.batch.Resumption
import org.apache.spark.sql.tidemark.check.FarAheadClocks
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.marks.{MarkLogs, NotedInputs, OutputMarks}
import org.apache.spark.sql.tidemark.session.{QuerySettings, SessionConf}
import org.apache.spark.sql.tidemark.sources.SourceBacklog
import org.apache.spark.sql.tidemark.status.{Gauges, QueryView}
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** Reads what a query begins with, and makes what runs it: once, when [[Takeover]] has decided that its watermarks are
  * Tidemark's. By now the settings are those of the query's checkpoint.
  *
  * @param label the query in messages
  */
private[tidemark] final class BeginQuery(execution: MicroBatchExecution, label: String) extends Logging {

  private def conf: SQLConf = SparkInternals.session(execution).sessionState.conf

  /** Puts Tidemark's tracker in the place of Spark's.
    *
    * @param makeOutputs called after the checkpoint has been read, so that a damaged one is the first error
    * @param restored what reports have said until now
    */
  def running(
      start: StartOfRun,
      makeOutputs: => OutputMarks,
      restored: Option[QueryView.RestoredEntry]): QueryLife.Running = {
    val origins = start.origins.get
    val settings = QuerySettings(
      SessionConf.unboundedJoin(conf),
      SessionConf.maxSplits(conf),
      SessionConf.scanOnlyWhenDue(conf),
      SessionConf.evictionSlack(conf),
      SessionConf.zone(conf),
      SessionConf.keepsHistory(conf))
    val (first, resumed) = resume(start, origins)
    val sources = new SourceBacklog(execution, origins, start.isRunAgain)
    val noted = new NotedInputs(
      label,
      origins,
      MarkLogs.of(SparkInternals.session(execution), origins),
      sources.position,
      sources.isAtEnd,
      SparkInternals.endsByItself(execution))
    val outputs = makeOutputs
    outputs.resume(first.batch, first.outputs, start.isRunAgain(first.batch + 1))
    val run = QueryView.Run(
      execution.outputMode == InternalOutputModes.Complete,
      conf.getConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED),
      resumed.countsSilence,
      next,
      BeyondSpark.isUsed(origins, execution.analyzedPlan))
    val waiting = restored.map(QueryView.Waiting(_))
    val watermarks =
      new QueryWatermarks(
        label,
        origins,
        settings,
        start.entries,
        noted,
        outputs,
        first,
        start.listening(_),
        resumed,
        run,
        waiting)
    FarAheadClocks.warning(
      execution.resolvedCheckpointRoot,
      origins,
      first,
      execution.triggerClock.getTimeMillis())
      .foreach(text => logWarning(s"$label: $text"))
    val sparkMillis = SparkInternals.tracker(execution).currentWatermark
    val floor = if (resumed.hasEntry) first.countsOf(sparkMillis) else sparkMillis
    SparkInternals.setTracker(execution, new QueryTracker(execution, watermarks, sources, start, floor))
    if (conf.getConf(SQLConf.STREAMING_METRICS_ENABLED)) {
      val gauges = new Gauges(
        Option(execution.name).getOrElse(execution.id.toString),
        origins.names,
        watermarks.latest,
        () => System.currentTimeMillis())
      watermarks.onClose(Gauges.register(gauges))
      watermarks.onPlanned(gauges.planned)
    }
    QueryLife.Running(watermarks, sources)
  }

  /** A trigger that follows immediately need not be named. */
  private def next: Situation.NextBatch = execution.trigger match {
    case ProcessingTimeTrigger(millis) if millis >= BeginQuery.LongTriggerMillis =>
      Situation.NextBatch.AtTrigger(millis)
    case _ => Situation.NextBatch.Soon
  }

  private def resume(start: StartOfRun, origins: OriginsOfPlan): (WatermarkEntry, Resumption) = {
    val first = SparkInternals.batch(execution)
    val previousMillis = execution.offsetLog.offsetSeqMetadataForBatchId(first.id - 1).fold(0L)(_.batchWatermarkMs)
    val downtime = Option.unless(SessionConf.downtimeIsSilence(conf)) {
      val inFirstBatch = if (start.isRunAgain(first.id)) start.sinceMillis - first.timestampMillis else 0L
      Resumption.Downtime(first.timestampMillis, inFirstBatch)
    }
    val at = Resumption.FirstBatch(first.id, previousMillis, SparkInternals.tracker(execution).currentWatermark)
    val readsOnlyWhatWasThere = SparkInternals.isForWhatIsAvailable(execution)
    val read @ (_, resumed) =
      Resumption.read(
        start.entries,
        start.entryOf(first.id - 1),
        origins,
        at,
        start.sinceMillis,
        downtime,
        readsOnlyWhatWasThere,
        start.begunAt)
    if (first.id > 0 && !resumed.hasEntry)
      logWarning(
        s"$label: the checkpoint has no watermark entry that matches batch ${first.id - 1} in Spark's log, so the query " +
          "continues from Spark's watermark")
    read
  }
}

private[tidemark] object BeginQuery {
  private val LongTriggerMillis = 1000L
}
