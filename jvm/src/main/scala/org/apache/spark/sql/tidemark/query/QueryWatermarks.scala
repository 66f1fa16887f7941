package org.apache.spark.sql.tidemark.query

import java.util.UUID

import scala.collection.mutable

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{Input, OriginName, Watermark}
import io.tidemark.core.memory.{BatchStart, Observation, OriginRules, WatermarkEntry, WhenIdle}
import io.tidemark.core.plan.{Decision, OperatorWatermarks, Propagation, WentBack}
import io.tidemark.core.splits.{SplitNameTable, Splits}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.tidemark.columns.{PlanOrigin, PlanOrigins}
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.log.EntryLog
import org.apache.spark.sql.tidemark.planning.{BatchWatermarks, ClockSteps, PlanShapeBuilder}
import org.apache.spark.sql.tidemark.session.QuerySettings

/** The watermarks of one running query: what it remembers, and what each batch works with.
  *
  * All methods but [[snapshot]], [[notes]], [[lateRows]] and [[abandon]] are called on the query's own thread.
  * `docs/inside.md` shows a batch's way through.
  */
private[tidemark] final class QueryWatermarks(
    val label: String,
    val origins: PlanOrigins,
    settings: QuerySettings,
    log: EntryLog)
    extends Logging {
  import PlanShapeBuilder.Reading
  import QueryWatermarks._

  private var entry: WatermarkEntry = WatermarkEntry.initial(Nil, -1L, 0L, 0L)
  private val levels = mutable.HashMap.empty[Long, OperatorWatermarks]
  private var next = Next(null, null, Decision.none)
  private var wanted = false
  // Of what was asked last, what had gone on by the clock and would close nothing.
  private var useless = Next(null, null, Decision.none)
  // How long the last batch has taken (ms).
  private var took = 0L
  private var reads = Map.empty[UUID, Watermark]
  private var ownSince = 0L
  private var began = 0L
  // The batch that is run again, and how long nobody listened since it was begun (ms).
  private var missed = Option.empty[(Long, Long)]
  // Up to when the triggers of this run have found that nothing was said of an origin; most of them run no batch.
  private var foundUntil = Map.empty[OriginName, Long]
  private var pausesSince = Long.MinValue
  @volatile private var told = Seq.empty[TidemarkError]

  @volatile private var seen: Option[Snapshot] = None
  @volatile private var late = Map.empty[Input, LateRows.Total]

  /** What a report is made from; from any thread. */
  def snapshot: Option[Snapshot] = seen

  /** What a user should know of the query, though it runs; from any thread. */
  def notes: Seq[TidemarkError] = told

  /** Rows of each operator's inputs that were late since this run began; from any thread. */
  def lateRows: Map[Input, LateRows.Total] = late

  def countLate(batch: Long, rows: Map[Input, LateRows]): Unit =
    late ++= rows.collect {
      case (input, more) if more.rows > 0 || !late.contains(input) =>
        val before = late.get(input).fold(LateRows.none)(_.all)
        input -> LateRows.Total(before + more, more, batch)
    }

  /** Called before the first batch of a run is planned: reads back what the checkpoint has.
    *
    * @param first the batch that is planned first
    * @param previousMillis the query's watermark in the batch before, in Spark's own log (0: none)
    * @param currentMillis the query's watermark for the first batch there: the floor of every origin whose own is lost
    * @param downtime when nobody listened, if that is no silence
    * @param runSinceMillis when this run began
    * @param begunAt when a batch was begun (ms), by Spark's own log. An entry that says otherwise is of another query, or of
    *   before the checkpoint was set back and Spark alone has run its batches again
    */
  def resume(
      first: Long,
      previousMillis: Long,
      currentMillis: Long,
      downtime: Option[Downtime],
      runSinceMillis: Long,
      begunAt: Long => Option[Long]): Unit = {
    def isOfThis(entry: WatermarkEntry) = begunAt(entry.batch).forall(_ == entry.timestampMillis)
    val floor = WatermarkEntry.initial(origins.names, first - 1, previousMillis, currentMillis)
    val own = if (first == 0) None else log.read(first - 1).filter(isOfThis)
    began = first
    missed = downtime.map(first -> _.sinceMillis)
    pausesSince = if (downtime.isEmpty) runSinceMillis else Long.MinValue
    def raised(read: WatermarkEntry) =
      downtime.foldLeft(read.raisedTo(floor))((entry, down) => entry.listeningFrom(down.untilMillis))
    def gap = if (first == 0) floor else log.newestBefore(first - 1).filter(isOfThis).fold(floor)(raised)
    entry = own.fold(gap)(_.withOriginsOf(floor))
    entry = entry.fitting(origins.rules)
    ownSince = if (own.isEmpty) first else first - 1
    if (first > 0 && own.isEmpty)
      logWarning(
        s"$label: the checkpoint has no watermark entry that matches batch ${first - 1} in Spark's log, so the query " +
          "continues from Spark's watermark")
  }

  /** Whether this run has run `batch`: before it Spark alone may have, and evicted less, also where there is an entry. */
  private def hasRun(batch: Long): Boolean = batch >= began

  /** Works out every operator's watermarks in `batch`. Spark asks for batch n-1 and then for n when it plans n, and for
    * n+1 on every trigger without data: the last is answered from memory until something has changed.
    */
  def propagate(batch: Long, plan: SparkPlan, start: => BatchStart): Unit =
    if (batch == entry.batch) {
      if (batch >= 0 && !levels.contains(batch)) keep(batch, translate(plan), entry.decision)
      // The next one is being planned.
      log.begin(batch + 1)
    } else if (batch == entry.batch + 1) decide(batch, plan, start)
    else if (batch >= 0) throw new IllegalStateException(s"batch $batch does not follow batch ${entry.batch}")

  private def decide(batch: Long, plan: SparkPlan, start: BatchStart): Unit = {
    val asked = isAsking(plan)
    val rules = if (asked && advances) rulesWorthABatch(plan, start) else origins.rules
    val decision = entry.decide(start, rules)
    foundUntil = entry.foundUntil(listened(batch, start), foundUntil)
    if (next.isOther(plan, decision)) {
      val translated = translate(plan)
      if (!levels.contains(entry.batch)) keep(entry.batch, translated, entry.decision)
      keep(batch, translated, decision)
      reads = readings(translated, entry.decision)
      tell(translated.notes)
      seen = Some(Snapshot(translated, entry, decision, Some(start), origins.rules))
      wanted =
        asked && Observation.letsGoOn(translated.shape, entry, start, rules, levels(batch))
    }
    next = Next(plan, start, decision)
  }

  /** By which it is asked whether a batch without data is to run: by the clock only where that is of use. */
  private def rulesWorthABatch(plan: SparkPlan, start: BatchStart): Map[OriginName, OriginRules] = {
    val byTheClock = entry.decide(start, origins.rules)
    val standing = entry.decide(start, withoutTheClock)
    def isUseful = {
      val shape = translate(plan).shape
      val further = Observation.settled(shape, entry, start, origins.rules)
      ClockSteps.mayClose(plan, Propagation.levels(shape, standing), further)
    }
    if (byTheClock == standing) origins.rules
    else if (ClockSteps.isTooSoon(entry.nowOf(start), entry.endMillis, took)) withoutTheClock
    else if ((useless.plan eq plan) && useless.decision == byTheClock) withoutTheClock
    else if (isUseful) origins.rules
    else {
      useless = Next(plan, start, byTheClock)
      withoutTheClock
    }
  }

  private lazy val advances = origins.rules.values.exists(_.whenIdle == WhenIdle.Advance)

  /** What has gone on by the clock stays. */
  private lazy val withoutTheClock = origins.rules.map { case (name, rules) =>
    name -> (if (rules.whenIdle == WhenIdle.Advance) rules.copy(whenIdle = WhenIdle.Rise) else rules)
  }

  /** Spark does not ask before the first batch of a run: had there been rows, it would have run one. */
  private def listened(batch: Long, start: BatchStart): BatchStart =
    if (batch == began && missed.nonEmpty) BatchStart.at(start.millis) else start

  /** What expressions of the plan read: watermarks of the batch before, as late rows are judged by them. */
  private def readings(plan: PlanShapeBuilder.Translated, decision: Decision): Map[UUID, Watermark] =
    if (plan.readings.isEmpty) Map.empty
    else {
      val flow = Propagation.levels(plan.shape, decision).flow
      plan.readings.map {
        case (id, Reading.OfOrigin(name)) => id -> decision.origin(name)
        case (id, Reading.OfColumn(from, column)) => id -> flow.outOf(from).column(column).watermark
      }
    }

  /** What is written into the plan of `batch`. */
  def watermarksOf(batch: Long): BatchWatermarks = {
    def of(batch: Long) = levels.getOrElse(
      batch,
      throw new TidemarkException(
        TidemarkError.TakeoverFailed(label, s"the watermarks of batch $batch were never computed")))
    BatchWatermarks(label, of(batch), of(batch - 1), hasRun(batch - 1), reads, latestMillis, settings.maxSplits)
  }

  private def translate(plan: SparkPlan) = new PlanShapeBuilder(origins, settings.unboundedJoin).build(plan)

  /** Whether a batch that has no data, and that Spark has asked about, would let a later one go on. */
  def wantsBatch(batch: Long): Boolean = wanted && batch == entry.batch + 1

  /** Event times after it move no clock in the batch that is planned (ms), of the origins that have such a limit. */
  private def latestMillis: Map[UUID, Long] = origins.all.flatMap { one =>
    one.rules.maxAheadMillis.map { ahead =>
      val now = entry.nowOf(next.start)
      one.clocks -> (if (ahead > Long.MaxValue - math.max(now, 0L)) Long.MaxValue else now + ahead)
    }
  }.toMap

  def maxSplits: Int = settings.maxSplits

  /** Spark asks whether to run a batch with the plan of the batch before, and plans it with a new one. */
  private def isAsking(plan: SparkPlan): Boolean =
    plan.exists {
      case writer: StateStoreWriter => writer.stateInfo.exists(_.storeVersion == entry.batch)
      case _ => false
    }

  private def keep(batch: Long, plan: PlanShapeBuilder.Translated, decision: Decision): Unit = {
    val now = Propagation.levels(plan.shape, decision)
    if (batch < ownSince) requireNothingCarried(batch, now)
    try levels.get(batch - 1).foreach(now.requireNotBefore)
    catch { case e: WentBack => throw new TidemarkException(TidemarkError.WatermarkWentBack(label, e.getMessage), e) }
    levels.update(batch, now)
  }

  /** The oldest carried values in state are in the entry alone: without it, a column could overtake them. */
  private def requireNothingCarried(batch: Long, levels: OperatorWatermarks): Unit =
    if (batch >= 0 && levels.inputs.values.exists(_.keepsLedger))
      throw new TidemarkException(TidemarkError.EntryMissing(label, log.file(batch)))

  def levelsOf(batch: Long): Option[OperatorWatermarks] = levels.get(batch)

  /** Forgets the watermarks of batches up to `batch`. */
  def purge(batch: Long): Unit = levels.filterInPlace((of, _) => of > batch)

  /** What Spark's own logs keep as the watermark of the query: the minimum of the origins, so that it can go on there. */
  def sparkMillis: Long = entry.standing.least(origins.names).sparkMillis

  /** Takes in what a batch has seen, and makes it durable. */
  def ended(batch: Long, endMillis: Long, observed: Observation): Unit = {
    val at = levels.getOrElse(batch, throw new IllegalStateException(s"batch $batch ended but was never planned"))
    val ended = Observation.BatchEnd(batch, next.start, endMillis, foundUntil, pausesSince)
    val after =
      try Observation.observe(entry, ended, next.decision, at, observed, origins.rules)
      catch {
        case e: SplitNameTable.TooLong =>
          val split = origins.all.filter(_.rules.splitBy.nonEmpty).map(_.column)
          throw new TidemarkException(TidemarkError.SplitNamesTooLong(split.mkString(", ")), e)
      }
    requireFewSplits(after)
    took =
      math.max(0L, endMillis - next.start.millis - missed.collect { case (`batch`, millis) => millis }.getOrElse(0L))
    entry = missed.collect { case (`batch`, millis) if millis > 0 => after.notListening(millis) }.getOrElse(after)
    log.write(entry)
    next = Next(null, null, Decision.none)
    seen = seen.map(_.copy(entry = entry, decision = entry.standing, decidedAt = None))
  }

  /** Nothing more comes of the batch that was begun: another driver has ended it, or the query has ended. From any thread. */
  def abandon(): Unit = log.abandon()

  /** Before anything of it is remembered: more splits than are allowed would fill the driver's memory. */
  private def requireFewSplits(after: WatermarkEntry): Unit = origins.all.foreach { one =>
    val size = after.origins.get(one.name).fold(0)(_.splits.size)
    if (size > settings.maxSplits)
      throw new TidemarkException(TidemarkError.TooManySplits(one.column, size, settings.maxSplits))
  }

  private def tell(notes: Seq[TidemarkError]): Unit =
    notes.filterNot(told.contains).foreach { note =>
      told = told :+ note
      logWarning(s"$label: ${note.message}")
    }
}

private[tidemark] object QueryWatermarks {

  /** @param untilMillis when the first batch was begun: before it Spark alone may have listened
    * @param sinceMillis how long nobody listened since then: the first batch may be one that another run had begun
    */
  final case class Downtime(untilMillis: Long, sinceMillis: Long)

  /** @param plan the query's plan in the last batch
    * @param entry the memory after the last batch that ended
    * @param decision what the next batch works with, as far as is known
    * @param decidedAt when that was decided; `None`: nobody has fallen silent since the last batch ended
    */
  final case class Snapshot(
      plan: PlanShapeBuilder.Translated,
      entry: WatermarkEntry,
      decision: Decision,
      decidedAt: Option[BatchStart],
      rules: Map[OriginName, OriginRules]) {

    /** The splits of an origin as the decision has them: who is idle in it, and not when the last batch ended. */
    def splits(one: PlanOrigin): Splits = decidedAt.fold(entry.splitsOf(one.name)) { at =>
      entry.splitsAt(at, one.name, rules)
    }
  }

  /** What the next batch has been found to work with. */
  private final case class Next(plan: SparkPlan, start: BatchStart, decision: Decision) {
    def isOther(plan: SparkPlan, decision: Decision): Boolean = (plan ne this.plan) || decision != this.decision
  }
}
