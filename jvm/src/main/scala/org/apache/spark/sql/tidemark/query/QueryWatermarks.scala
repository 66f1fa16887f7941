package org.apache.spark.sql.tidemark.query

import java.util.UUID

import io.tidemark.{CheckpointErrors, TidemarkError, TidemarkException}
import io.tidemark.core.{EventTimeUnits, Input, OperatorId, OriginName}
import io.tidemark.core.memory.{BatchStart, Observation, WatermarkEntry}
import io.tidemark.core.noted.NotedWriters
import io.tidemark.core.plan.{OperatorWatermarks, PlanShape, Propagation, WentBack}
import io.tidemark.core.splits.SplitNameTable
import io.tidemark.core.why.{Situation, Words}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.batch.{KnownState, PlannedBatch, Resumption, TimeOnlyBatches, WatermarkValues}
import org.apache.spark.sql.tidemark.columns.{OriginsOfPlan, PlanOrigin}
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.log.EntryWriter
import org.apache.spark.sql.tidemark.marks.{NotedInputs, OutputMarks}
import org.apache.spark.sql.tidemark.planning.{BatchWatermarks, EvictionSlack, OperatorOrder, PlanShapeBuilder}
import org.apache.spark.sql.tidemark.session.QuerySettings
import org.apache.spark.sql.tidemark.status.{ProgressFields, PublishedView, QueryView}

/** The watermarks of one running query: its memory, and what each batch uses.
  *
  * All methods but [[state]], [[view]], [[latest]], [[abandon]] and [[close]] are called on the query's own thread, in the order that
  * [[QueryPropagator]] lists.
  *
  * @param label the query's name, for messages
  * @param noted the inputs whose clocks are noted by their writers
  * @param outputs the marks that the query writes
  * @param first the memory that this run begins with
  * @param listening an entry that another run has written, as the one that this run's next batch is decided from
  * @param resumed how this run continues from the runs before it
  * @param run its output mode, whether it runs no-data batches, and whether its time counts as silence
  * @param waiting what a report says until the first batch is planned
  */
private[tidemark] final class QueryWatermarks(
    val label: String,
    val origins: OriginsOfPlan,
    settings: QuerySettings,
    log: EntryWriter,
    val noted: NotedInputs,
    val outputs: OutputMarks,
    first: WatermarkEntry,
    listening: WatermarkEntry => WatermarkEntry,
    resumed: Resumption,
    run: QueryView.Run,
    waiting: Option[QueryView.Waiting]) {

  private val clockOnly = new TimeOnlyBatches(origins.rules)

  // The memory after the last batch that has ended.
  private var entry = first

  // The last batch of this run that has ended, and the one after it as far as it is decided.
  private var ended = Option.empty[PlannedBatch]
  private var planned = Option.empty[PlannedBatch]

  private var known = KnownState.atStart

  private val words = new Words(settings.zone)
  private val published = new PublishedView(label, origins, settings.keepsHistory, run, words, waiting)

  @volatile private var closing: () => Unit = () => ()
  private var planning: PlanShape => Unit = _ => ()

  /** What a report is made from, from any thread. */
  def state: Option[QueryView.State] = published.state.map {
    case planned: QueryView.Planned => planned.copy(outputs = outputs.status, noted = noted.view)
    case other => other
  }

  /** The same; `None` until the first batch of this run is planned. */
  def view: Option[QueryView.Planned] = latest.map(_.detached)

  /** The same, whose splits belong to the query's own thread. */
  def latest: Option[QueryView.Planned] = published.latest

  def maxSplits: Int = settings.maxSplits

  /** Works out every operator's watermarks in `batch`. The answer comes from memory until something has changed. */
  def propagate(batch: Long, plan: SparkPlan, start: => BatchStart): Unit = {
    outputs.look()
    if (batch == entry.batch) log.begin()
    else if (batch == entry.batch + 1) planned = Some(decide(plan, start))
    else if (batch >= 0) throw new IllegalStateException(s"batch $batch does not follow batch ${entry.batch}")
  }

  private def decide(plan: SparkPlan, start: BatchStart): PlannedBatch = {
    val batch = entry.batch + 1
    val isAsked = isAsking(plan)
    val rules = if (isAsked) clockOnly.rulesFor(entry, plan, start)(translate(plan).shape) else origins.rules
    val decision = entry.decide(start, rules)
    val silentBefore = planned.orElse(ended).fold(Map.empty[OriginName, Long])(_.silentUntil)
    val listened = if (planned.isEmpty) resumed.listened(batch, start) else start
    val silentUntil = entry.foundUntil(listened, silentBefore)
    // Without a stateful operator, each trigger brings the plan of the last batch.
    if (!isAsked && !planned.exists(_.plan.exists(_ eq plan))) noted.batchBegins(entry, start.millis)
    val news = if (isAsked) noted.news(entry, start.millis) else Map.empty[OriginName, Observation.OriginObservation]
    planned.filter(_.isFor(plan, decision, news)) match {
      case Some(same) => same.copy(start = start, silentUntil = silentUntil)
      case None =>
        val translated = translate(plan)
        val late = planned.map(_.late).orElse(ended.map(_.eviction)).getOrElse(resumedWatermarks(translated.shape))
        val eviction = Propagation.levels(translated.shape, decision)
        requireNotBefore(late, eviction)
        published.planned(QueryView.Snapshot(translated, entry, decision, Some(start), origins.rules), known)
        planning(translated.shape)
        PlannedBatch(
          batch,
          Some(plan),
          start,
          decision,
          late,
          eviction,
          WatermarkValues.of(translated, entry, start, rules, eviction, decision),
          translated.outputs,
          silentUntil,
          news,
          isAsked &&
            (noted.keepsActive(news, entry, start.millis) || Observation.needsNoDataBatch(
              translated.shape,
              entry,
              start,
              rules,
              eviction,
              Observation.nothing.copy(origins = news))))
    }
  }

  /** The watermarks with which the operators of a plan came out of the last batch of an earlier run. */
  def before(plan: SparkPlan): OperatorWatermarks = resumedWatermarks(translate(plan).shape)

  private def translate(plan: SparkPlan) = new PlanShapeBuilder(origins, settings.unboundedJoin).build(plan)

  /** Whether Spark asks if a no-data batch should run: it does so with the plan of the batch before. A batch that runs has
    * a new plan.
    */
  private def isAsking(plan: SparkPlan): Boolean =
    plan.exists {
      case writer: StateStoreWriter => writer.stateInfo.exists(_.storeVersion == entry.batch)
      case _ => false
    }

  /** The operators' watermarks of the batch before this run. Only the entry of that batch has the oldest carried values in
    * state: without it, a column could overtake them.
    */
  private def resumedWatermarks(shape: PlanShape): OperatorWatermarks = {
    val watermarks = Propagation.levels(shape, entry.decision)
    if (entry.batch >= 0 && !resumed.hasEntry && watermarks.inputs.values.exists(_.keepsLedger))
      throw new TidemarkException(CheckpointErrors.EntryMissing(label, log.file(entry.batch)))
    watermarks
  }

  private def requireNotBefore(previous: OperatorWatermarks, next: OperatorWatermarks): Unit =
    try next.requireNotBefore(previous)
    catch { case e: WentBack => throw new TidemarkException(TidemarkError.WatermarkWentBack(label, e.getMessage), e) }

  /** A batch that is being decided, or the last one that has ended. */
  def plannedBatch(id: Long): Option[PlannedBatch] =
    planned.filter(_.batch == id).orElse(ended.filter(_.batch == id))

  /** Takes in the orders in which a batch's operators read their rows. */
  def ordered(now: Map[OperatorId, OperatorOrder]): Unit = published.ordered(now)

  /** What is written into the plan of a batch. */
  def watermarksOf(id: Long): BatchWatermarks = {
    val at = plannedBatch(id).getOrElse(throw new TidemarkException(
      TidemarkError.TakeoverFailed(label, s"the watermarks of batch $id were never computed")))
    BatchWatermarks(
      label,
      at.late,
      at.eviction,
      resumed.hasRun(id - 1),
      at.readings,
      settings.scansWhenDue,
      known.windows.view.mapValues(_.grid).toMap,
      EvictionSlack(settings.evictionSlack, known.rows, known.evictedMillis),
      latestMillis(at.start),
      settings.maxSplits,
      origins.promisedIn(at.eviction.root.shape),
      ProgressFields.of(origins.names, words)(published.after(id)))
  }

  /** Event times after it move no clock in the batch (ms), for the origins that have such a limit. */
  private def latestMillis(start: BatchStart): Map[UUID, Long] = {
    val now = entry.nowOf(start)
    origins.all.flatMap { origin =>
      origin.rules.maxAheadMillis.map(ahead => origin.clocks -> EventTimeUnits.saturatedPlus(now, ahead))
    }.toMap
  }

  /** What the marks of an input say when the planned batch has ended. */
  def marksOf(origin: PlanOrigin): NotedWriters = noted.passedBy(origin, entry, planned.fold(0L)(_.start.millis))

  /** What Spark's own logs keep as the watermark of the query: the minimum of the origins. Spark can continue from it. */
  def sparkMillis: Long = entry.standing.least(origins.names).sparkMillis

  /** Takes in what a batch has seen, and makes it durable.
    * @param rows how many rows the batch brought to each operator's input
    * @param ofState what the batch has found of its operators' state
    */
  def batchEnded(
      id: Long,
      endMillis: Long,
      seen: Observation,
      late: LateRows.BatchLateRows,
      rows: Map[Input, Situation.Rows],
      ofState: KnownState.OfBatch): Unit = {
    val batch = planned.filter(_.batch == id).getOrElse(
      throw new IllegalStateException(s"batch $id ended but was never planned"))
    val downtime = resumed.downtimeIn(id)
    val after = observe(batch, endMillis, seen)
    requireFewSplits(after)
    clockOnly.batchTook(math.max(0L, endMillis - batch.start.millis - downtime))
    // Also without an idle time: the next run may have one, and silence then counts from before it.
    val missed = resumed.missedIn(id, entry.endMillis, endMillis)
    entry = (if (missed > 0) after.notListening(missed) else after)
      .copy(outputs = outputs.watermarks(batch, after.standing))
    known = known.after(ofState, batch.eviction)
    val view = published.ended(endMillis)(_.after(id, endMillis, entry, late, rows, known).copy(noted = noted.view))
    val own = entry.copy(reason = view.flatMap(_.reason).map(_.text(words)))
    val written = log.write(own)
    entry = if (written eq own) own else listening(written)
    outputs.written(id, entry.outputs)
    ended = Some(batch.copy(plan = None))
    planned = None
    published.publish(
      if (written eq own) view
      // The batch had an entry already.
      else published.ended(endMillis)(_.after(id, endMillis, entry, late, rows, known).copy(noted = noted.view)))
  }

  private def observe(batch: PlannedBatch, endMillis: Long, seen: Observation): WatermarkEntry = {
    val end =
      Observation.BatchEnd(batch.batch, batch.start, endMillis, batch.silentUntil, resumed.pausesSinceMillis)
    try Observation.observe(entry, end, batch.decision, batch.eviction, seen, origins.rules)
    catch {
      case e: SplitNameTable.TooLong =>
        val split = origins.all.filter(_.rules.splitBy.nonEmpty).map(_.column)
        throw new TidemarkException(TidemarkError.SplitNamesTooLong(split.mkString(", ")), e)
    }
  }

  /** More splits than are allowed would fill the driver's memory, so this comes before any of them is remembered. */
  private def requireFewSplits(after: WatermarkEntry): Unit = origins.all.foreach { origin =>
    val size = after.origins.get(origin.name).fold(0)(_.splits.size)
    if (size > settings.maxSplits)
      throw new TidemarkException(TidemarkError.TooManySplits(origin.column, size, settings.maxSplits))
  }

  /** Nothing more comes of the batch that was begun: another driver has ended it. From any thread. */
  def abandon(): Unit = log.abandon()

  /** Does something more with the plan of each batch. */
  def onPlanned(more: PlanShape => Unit): Unit = planning = more

  /** Does something more when the query has ended. */
  def onClose(more: () => Unit): Unit = closing = more

  /** The query has ended. From any thread. */
  def close(): Unit = {
    abandon()
    noted.close()
    outputs.close()
    closing()
  }
}
