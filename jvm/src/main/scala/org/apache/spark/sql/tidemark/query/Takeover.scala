package org.apache.spark.sql.tidemark.query

import java.util.UUID

import scala.util.Try

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.memory.{BatchStart, WatermarkEntry}

import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, PropagateWatermarkSimulator}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.{PlanOrigins, UnionChecks}
import org.apache.spark.sql.tidemark.log.EntryLog
import org.apache.spark.sql.tidemark.optimizer.InsertOperatorInputs
import org.apache.spark.sql.tidemark.session.{QuerySettings, SessionConf}

/** One query whose watermarks are Tidemark's (or could be: some of its settings come back from its checkpoint only when
  * its first batch is planned, and may leave it to Spark).
  */
private[tidemark] final class Takeover(execution: MicroBatchExecution) extends Logging {
  import Takeover._

  private val label = Option(execution.name).fold(execution.id.toString)(name => s"$name [${execution.id}]")
  private def conf: SQLConf = SparkInternals.session(execution).sessionState.conf

  // What a run before this one has begun, and not counted as done, is decided as it was then.
  private val began = now
  private val begunBefore = execution.offsetLog.getLatestBatchId()

  private def isRunAgain(batch: Long): Boolean = begunBefore.exists(_ >= batch)

  @volatile private var decided: Option[Either[String, QueryWatermarks]] = None

  /** The query's keyed watermarks; `None` if it is left to Spark. On the query's thread, from its first planning on. */
  lazy val query: Option[QueryWatermarks] = {
    val decision = leftToSpark.toLeft(begin())
    decision.left.foreach { reason =>
      forgetRecalled()
      logWarning(s"$label: watermarks are left to Spark because of $reason")
      refuseOptions(origins, reason)
    }
    decided = Some(decision)
    decision.toOption
  }

  /** The reason why the query is left to Spark, by the settings as they are now. */
  def leftToSpark: Option[String] = SessionConf.leftToSpark(conf)
    // Spark 4.0 has no such class.
    .orElse(Option.when(execution.trigger.getClass.getSimpleName == "RealTimeTrigger")("the real-time trigger"))
    // It goes back to a batch long before the last one, whose entry would be gone. Spark 4.0 has it in another package.
    .orElse(Option.when(execution.getClass.getSimpleName == "AsyncProgressTrackingMicroBatchExecution") {
      "asynchronous progress tracking"
    })

  /** What has been decided, from any thread: the reason why the query is left to Spark, or its watermarks. */
  def decision: Option[Either[String, QueryWatermarks]] = decided

  /** What can be said of it, from any thread; `None` where it has failed before anything could be. */
  def view: Option[QueryView] = {
    val state = decision.orElse(leftToSpark.map(Left(_))) match {
      case Some(Left(reason)) => Some(QueryView.LeftToSpark(reason))
      case decided =>
        val planned = for {
          query <- decided.flatMap(_.toOption)
          view <- query.view
        } yield view
        planned.orElse(remembered.map(QueryView.Waiting(_)))
    }
    state.map(QueryView(id, runId, Option(execution.name), _))
  }

  def isActive: Boolean = execution.isActive

  /** Whether its thread has come to its end: one that is being stopped may still be planning. */
  def hasEnded: Boolean =
    SparkInternals.session(execution).sharedState.activeStreamingQueries.get(execution.id) ne execution

  def id: UUID = execution.id
  def runId: UUID = execution.runId

  /** The batch that is being planned or run. */
  def batch: SparkInternals.Batch = SparkInternals.batch(execution)

  /** Whether that batch is counted as done already. */
  def isCounted: Boolean = execution.commitLog.get(batch.id).nonEmpty

  /** Whether its sink may have taken that batch already, and leave it unread for that: a run before this one has begun it.
    * Sinks of the newer kind cannot: they are part of the plan.
    */
  def mayBeTaken: Boolean = execution.sink.isInstanceOf[Sink] && isRunAgain(batch.id)

  /** Runs that batch without its sink, for what is to be learned of it. */
  def runWithoutSink(): Unit = {
    val unread = execution.lastExecution
    logWarning(
      s"$label: an earlier run began batch ${batch.id}, and the sink has skipped it as already written. Tidemark " +
        "runs the batch again without the sink, to read its event times.")
    SQLExecution.withNewExecutionId(unread)(unread.toRdd.foreach(_ => ()))
  }

  /** When the batch that is being planned or run was begun, and what is to be read then. */
  def start: BatchStart = sources.fold(BatchStart.at(batch.timestampMillis))(_.start)

  /** By the clock that the query goes by, ms. */
  def now: Long = execution.triggerClock.getTimeMillis()

  /** What the query's sources say. */
  lazy val sources: Option[SourceBacklog] = query.map(keyed => new SourceBacklog(execution, keyed.origins, isRunAgain))

  // What fails is tried again, and so fails where it is told to the user.
  private lazy val origins = PlanOrigins.of(execution.analyzedPlan, conf)

  private lazy val entries = new EntryLog(
    new Path(execution.resolvedCheckpointRoot),
    SparkInternals.session(execution).sessionState.newHadoopConf(),
    conf.minBatchesToRetain)

  private def begunAt(batch: Long): Option[Long] =
    execution.offsetLog.offsetSeqMetadataForBatchId(batch).map(_.batchTimestampMs)

  /** Before a new batch is begun: nobody was silent while the query was not running, as nobody listened. The last entry is
    * replaced by one that says so. A batch that has been begun is decided by the entry as it was then.
    */
  private def listen(): Unit =
    for {
      batch <- begunBefore if hasIdleTimes && execution.commitLog.getLatestBatchId().contains(batch)
      // One that cannot be read is refused when the query is planned, if it is wanted then.
      entry <- Try(entries.read(batch)).toOption.flatten if begunAt(batch).forall(_ == entry.timestampMillis)
    } {
      val listening = entry.listeningFrom(began)
      if (listening ne entry) entries.rewrite(listening)
    }

  // What is known before the first batch of this run is planned, which may be long: no row may come.
  @volatile private var remembered = Option.empty[QueryView.Recalled]

  /** Once there is something newer: it has all the splits that the query had. */
  def forgetRecalled(): Unit = remembered = None

  // What cannot be read is refused where it is told to the user.
  private def recall(): Unit = remembered = Try {
    val last = execution.commitLog.getLatestBatchId()
    val entry = last.flatMap(entries.read).filter(entry => begunAt(entry.batch).forall(_ == entry.timestampMillis))
    // By Spark's own log, on a checkpoint that Spark alone has written so far.
    def floor = {
      val millis = last.flatMap(execution.offsetLog.offsetSeqMetadataForBatchId(_)).fold(0L)(_.batchWatermarkMs)
      WatermarkEntry.initial(origins.names, last.getOrElse(-1L), millis, millis)
    }
    QueryView.Recalled(entry.getOrElse(floor).fitting(origins.rules), origins, isRestart = begunBefore.nonEmpty)
  }.toOption

  // Where it cannot be said, the query is about to be refused for it, and may have them the next time.
  private def hasIdleTimes: Boolean =
    Try(!SessionConf.downtimeIsSilence(conf) && origins.all.exists(_.rules.idleAfterMillis.nonEmpty)).getOrElse(true)

  private def begin(): QueryWatermarks = {
    UnionChecks.requireSamePositions(execution.analyzedPlan)
    val first = batch
    val previousMillis = execution.offsetLog.offsetSeqMetadataForBatchId(first.id - 1).fold(0L)(_.batchWatermarkMs)
    val downtime = Option.unless(SessionConf.downtimeIsSilence(conf)) {
      Resumed.Downtime(first.timestampMillis, if (isRunAgain(first.id)) began - first.timestampMillis else 0L)
    }
    val at = Resumed.FirstBatch(first.id, previousMillis, first.watermarkMillis)
    val resumed = Resumed.read(entries, origins, at, began, downtime, begunAt)
    if (first.id > 0 && !resumed.hasEntry)
      logWarning(
        s"$label: the checkpoint has no watermark entry that matches batch ${first.id - 1} in Spark's log, so the query " +
          "continues from Spark's watermark")
    val settings = QuerySettings(SessionConf.unboundedJoin(conf), SessionConf.maxSplits(conf))
    val query = new QueryWatermarks(label, origins, settings, entries, resumed)
    val floor = SparkInternals.tracker(execution).currentWatermark
    SparkInternals.setTracker(execution, new QueryTracker(this, query, execution.analyzedPlan, floor))
    query
  }

  /** Puts the propagator and the optimizer rule in place; on the query's thread, before its first batch is planned. */
  private def install(): Unit = {
    SparkInternals.setPropagator(execution, new QueryPropagator(this))
    val session = SparkInternals.session(execution)
    session.experimental.extraOptimizations = session.experimental.extraOptimizations :+
      new SessionRule(session, new InsertOperatorInputs(() => query.map(_.origins)))
  }
}

private[tidemark] object Takeover {

  /** Takes over a query that has just been started; `None` where it has nothing for Tidemark to do.
    *
    * @throws TidemarkException when it should be, and cannot be
    */
  def of(execution: MicroBatchExecution): Option[Takeover] = {
    if (!isDue(execution)) None
    else {
      SessionConf.requireKnown(SparkInternals.session(execution).sessionState.conf)
      val takeover = new Takeover(execution)
      takeover.listen()
      takeover.recall()
      // Spark has chosen its propagator by the same setting when the query was made.
      if (SparkInternals.propagator(execution).isInstanceOf[PropagateWatermarkSimulator]) takeover.install()
      else takeover.query
      Some(takeover)
    }
  }

  /** Whether a query has watermarks, and Tidemark is on. Settings are read second: a query without watermarks has nothing
    * to do with them, and runs whatever they say.
    */
  def isDue(execution: MicroBatchExecution): Boolean =
    execution.analyzedPlan.exists(_.isInstanceOf[EventTimeWatermark]) &&
      SessionConf.enabled(SparkInternals.session(execution).sessionState.conf)

  /** Who names a key, splits or an idle time asks for what Spark alone cannot give. */
  private def refuseOptions(origins: PlanOrigins, reason: String): Unit =
    origins.all.flatMap(_.asks).headOption.foreach { asked =>
      throw new TidemarkException(TidemarkError.LeftToSpark(reason, asked))
    }
}
