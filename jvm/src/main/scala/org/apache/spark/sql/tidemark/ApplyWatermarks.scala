package org.apache.spark.sql.tidemark

import java.util.UUID

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.{Input, Levels, OperatorId, Side, Watermark}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeWatermarkExec, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec

/** Writes the late and eviction watermarks of a batch into the plan that Spark has prepared.
  *
  * Spark has filled in one number per operator already. What is left are the two sides of joins and the operators with
  * several event-time columns: their [[OperatorInputExec]] gets the watermark by which rows are late (batch n-1's), and
  * a join the predicates by which each side's state is evicted (batch n's). Idempotent: the rule may run several times.
  */
final class ApplyWatermarks(session: SparkSession) extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[ApplyWatermarks].getName

    override def apply(plan: SparkPlan): SparkPlan = runOf(plan) match {
      case None => plan
      case Some(Run(runId, batch)) =>
        Takeovers.get(runId) match {
          case Some(Right(takeover)) =>
            takeover.query match {
              case Some(query) =>
                LateRowsMetricsExec.over(write(plan, new BatchLevels(query, batch.getOrElse(takeover.batch.id))))
              case None => requireNoReading(plan, takeover.decision.flatMap(_.left.toOption))
            }
          case Some(Left(failure)) => throw failure
          case None =>
            // `explain` plans as a run of its own, which nobody could have taken over; Spark 4.0 does so for every batch.
            RequireTakeover(session, runId).fold(plan) { query =>
              if (query.analyzedPlan.exists(_.isInstanceOf[EventTimeWatermark])) requireNoReading(plan, None)
              else readIn(plan)(withoutWatermark)
            }
        }
    }
  }

  private def withoutWatermark(reading: WatermarkReading): WatermarkReading =
    if (reading.state == WatermarkReading.Awaited) reading.withState(WatermarkReading.Read(Watermark.Unknown))
    else reading

  /** Spark's own watermarks are not those of a place in the plan. A part of a plan may be planned on its own. */
  private def requireNoReading(plan: SparkPlan, reason: Option[String]): SparkPlan = {
    val hasWatermarks = plan.exists(_.isInstanceOf[EventTimeWatermarkExec])
    val readings = plan.flatMap(WatermarkReading.in(_))
    readings.find(_.state == WatermarkReading.Awaited || hasWatermarks).foreach { reading =>
      val why = reason.getOrElse(s"${TidemarkConf.Enabled.key}=false")
      throw new TidemarkException(TidemarkError.leftToSpark(why, s"reads ${reading.sql}"))
    }
    plan
  }

  /** @param batch `None`: the one that is being planned */
  private case class Run(id: UUID, batch: Option[Long])

  /** The run and the batch of the streaming plan; none for other plans, those of `explain` and of `foreachBatch`. A plan
    * without state does not say them itself.
    */
  private def runOf(plan: SparkPlan): Option[Run] =
    plan.collectFirst {
      case writer: StateStoreWriter if writer.stateInfo.isDefined =>
        Run(writer.stateInfo.get.queryRunId, Some(writer.stateInfo.get.storeVersion))
    }.orElse {
      val isOurs = plan.exists(node => node.isInstanceOf[SplitClocksExec] || WatermarkReading.isIn(node))
      if (isOurs) RunningQuery.of(session).map(query => Run(query.runId, None)) else None
    }

  private def readIn(plan: SparkPlan)(read: WatermarkReading => WatermarkReading): SparkPlan = plan.transformUp {
    case node if WatermarkReading.isIn(node) =>
      node.transformExpressions { case reading: WatermarkReading => read(reading) }
  }

  private def write(plan: SparkPlan, levels: BatchLevels): SparkPlan = readIn(plan)(levels.read).transformUp {
    case clocks: SplitClocksExec => levels.limit(clocks)
    case join: StreamingSymmetricHashJoinExec if levels.knows(join, Side.Left) || levels.knows(join, Side.Right) =>
      val left = filled(join.left, join, Side.Left, levels)
      val right = filled(join.right, join, Side.Right, levels)
      JoinWatermarks.write(join.copy(left = left, right = right), levels)
    case writer: StateStoreWriter if levels.knows(writer, Side.Left) && writer.children.nonEmpty =>
      val input = filledOrCounted(writer.children.head, writer, levels)
      if (input eq writer.children.head) writer else writer.withNewChildren(input +: writer.children.tail)
  }

  /** With the operator's own [[OperatorInputExec]] filled in: the first one below it, with nothing stateful in between. */
  private def filled(plan: SparkPlan, operator: StateStoreWriter, side: Side, levels: BatchLevels): SparkPlan =
    own(plan).fold(plan)(input => LateDrops.replaced(plan, input, levels.fill(input, operator, side)))

  /** Where it has none, with one that counts the rows which the operator is about to drop. */
  private def filledOrCounted(plan: SparkPlan, operator: StateStoreWriter, levels: BatchLevels): SparkPlan =
    if (own(plan).nonEmpty) filled(plan, operator, Side.Left, levels)
    else
      LateDrops.column(operator).fold(plan) { column =>
        LateDrops.insert(plan, operator, column) { (below, at) =>
          levels.fill(
            OperatorInputExec(Some(at), Nil, filters = false, OperatorInputExec.Unset, below),
            operator,
            Side.Left)
        }
      }

  private def own(plan: SparkPlan): Option[OperatorInputExec] =
    LateDrops.path(plan).collectFirst { case input: OperatorInputExec => input }
}

/** What one batch writes: late watermarks of the batch before, eviction watermarks of its own. */
private[tidemark] final class BatchLevels(query: KeyedQuery, val batch: Long) {
  private val own = query.levelsOf(batch).getOrElse(throw missing(batch))
  private val previous = query.levelsOf(batch - 1).getOrElse(throw missing(batch - 1))

  def label: String = query.label

  private def missing(of: Long) = new TidemarkException(
    TidemarkError.takeoverFailed(query.label, s"the watermarks of batch $of were never worked out"))

  def knows(writer: StateStoreWriter, side: Side): Boolean = own.inputs.contains(input(writer, side))

  def progress(writer: StateStoreWriter): Long = own.progress(operator(writer)).getOrElse(0L)

  /** Rows at or before it are late (ms). Undefined is 0, as in Spark: event time begins with the epoch. */
  def lateMillis(writer: StateStoreWriter, side: Side): Long =
    previous.inputs.get(input(writer, side)).fold(0L)(_.input.watermark.sparkMillis)

  /** The state of that side is evicted up to here (ms); `None` if it never is. */
  def evictedMillis(writer: StateStoreWriter, side: Side): Option[Long] = evicted(own, writer, side).map(_.sparkMillis)

  /** The same by the watermarks of the batch before. */
  def lateEvictedMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    evicted(previous, writer, side).map(_.sparkMillis)

  /** Up to where the batch before has evicted it; `None` where that is not known. */
  def evictedBeforeMillis(writer: StateStoreWriter, side: Side): Option[Long] =
    if (!query.hasRun(batch - 1)) None
    else evicted(previous, writer, side).flatMap(_.millis)

  private def evicted(in: Levels, writer: StateStoreWriter, side: Side): Option[Watermark] =
    in.inputs.get(input(writer, side)).flatMap(_.evicted).map(_.watermark)

  def fill(exec: OperatorInputExec, writer: StateStoreWriter, side: Side): OperatorInputExec = {
    val at = input(writer, side)
    val drops = if (exec.filters) !LateDrops.takesAll(writer) else LateDrops.column(writer).nonEmpty
    val late = if (exec.active.isDefined && drops) Some(lateMillis(writer, side)) else None
    val levels = OperatorInputExec.Levels(Some(at), late, notes = own.inputs.get(at).exists(_.keepsLedger))
    if (exec.levels == levels) exec else exec.copy(levels = levels)
  }

  /** Of a batch query in the midst of the streaming one, as in `foreachBatch`, nothing is known. */
  def read(reading: WatermarkReading): WatermarkReading =
    query.read(reading).fold(reading)(watermark => reading.withState(WatermarkReading.Read(watermark)))

  def limit(clocks: SplitClocksExec): SplitClocksExec = {
    val limits = SplitClocksExec.Limits(query.latestMillis(clocks.clocksId), query.maxSplits)
    if (clocks.limits.contains(limits)) clocks else clocks.copy(limits = Some(limits))
  }

  private def operator(writer: StateStoreWriter) = OperatorId(writer.stateInfo.get.operatorId)
  private def input(writer: StateStoreWriter, side: Side) = Input(operator(writer), side)
}
