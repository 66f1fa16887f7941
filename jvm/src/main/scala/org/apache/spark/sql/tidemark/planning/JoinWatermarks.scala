package org.apache.spark.sql.tidemark.planning

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.Side

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  EventTimeWatermarkExec,
  StateStoreWriter,
  WatermarkSupport
}
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper._
import org.apache.spark.sql.tidemark.exec.{OperatorInputExec, SplitClocksExec}
import org.apache.spark.sql.tidemark.exec.eviction.DeferredJoinExec

/** Gives each side of a stream-stream join its own watermarks. */
private[tidemark] object JoinWatermarks {

  /** @param left the join's left input, with its watermarks
    * @param right its right input, likewise. Each copy of a join costs a broadcast, so one is made with all that changes
    */
  def write(
      join: StreamingSymmetricHashJoinExec,
      left: SparkPlan,
      right: SparkPlan,
      watermarks: BatchWatermarks): StreamingSymmetricHashJoinExec = {
    val bounds = new JoinBounds(join)
    requireFilter(join, left, bounds.left, watermarks)
    requireFilter(join, right, bounds.right, watermarks)
    val all = JoinStateWatermarkPredicates(
      left = predicate(join, bounds, Side.Left, watermarks),
      right = predicate(join, bounds, Side.Right, watermarks))
    val due = JoinStateWatermarkPredicates(
      left = all.left.filterNot(_ => mayWait(join, bounds, Side.Left, watermarks)),
      right = all.right.filterNot(_ => mayWait(join, bounds, Side.Right, watermarks)))
    // A filter below the shuffle already drops each side's late rows, by that side's own watermark.
    val late = None
    val eviction = Some(watermarks.progress(join))
    val condition = scanned(join, bounds)
    if (due != all) DeferredJoinExec.of(join, condition, late, eviction, due, left, right)
    else
      join.copy(
        condition = condition,
        eventTimeWatermarkForLateEvents = late,
        eventTimeWatermarkForEviction = eviction,
        stateWatermarkPredicates = due,
        left = left,
        right = right)
  }

  /** Whether a side's expired rows may stay for now: none of the other side's rows that are on time matches them. From state
    * format 4 on, Spark finds expired rows without a scan.
    */
  private def mayWait(
      join: StreamingSymmetricHashJoinExec,
      bounds: JoinBounds,
      side: Side,
      watermarks: BatchWatermarks): Boolean =
    join.joinType == Inner && join.stateFormatVersion < 4 &&
      Seq(Side.Left, Side.Right).forall(at => bounds.active(at).nonEmpty && bounds.boundsActive(at)) &&
      bounds.active(side).exists(watermarks.mayWait(join, side, _))

  /** From state format 4 on, Spark looks for matches in a range of the active column only. It derives that range from the
    * whole condition, even from parts about other columns.
    */
  private def scanned(join: StreamingSymmetricHashJoinExec, bounds: JoinBounds): JoinConditionSplitPredicates =
    if (join.stateFormatVersion < 4) join.condition else join.condition.copy(full = bounds.range)

  private def predicate(
      join: StreamingSymmetricHashJoinExec,
      bounds: JoinBounds,
      side: Side,
      watermarks: BatchWatermarks): Option[JoinStateWatermarkPredicate] = {
    val (evicted, before) =
      if (isAhead(join, side)) (watermarks.lateEvictedMillis(join, side), None)
      else (watermarks.evictedMillis(join, side), scannedUpTo(join, bounds, side, watermarks))
    for {
      at <- evicted
      predicate <- bounds.key match {
        case Some(index) =>
          val key = (if (side == Side.Left) join.leftKeys else join.rightKeys) (index)
          expression(BoundReference(index, key.dataType, key.nullable), at)
            .map(SparkShim.keyPredicate(_, at, before))
        case None =>
          bounds.active(side).flatMap(expression(_, at)).map(SparkShim.valuePredicate(_, at, before))
      }
    } yield predicate
  }

  /** In a left semi join Spark processes the right side first, and discards right rows that this batch's watermark
    * already evicts. Left rows of the same batch come next and would miss them. So the right side uses the bound of the
    * batch before, which closes no row that is still needed. That side is evicted a batch later, or in this one if the left
    * side has no rows.
    */
  private def isAhead(join: StreamingSymmetricHashJoinExec, side: Side): Boolean =
    isWorkedOffFirst(join, side) && mayHaveRows(join.left)

  private def isWorkedOffFirst(join: StreamingSymmetricHashJoinExec, side: Side): Boolean =
    join.joinType == LeftSemi && side == Side.Right

  // Any operator that is not known to pass on only its input may create rows.
  private def mayHaveRows(plan: SparkPlan): Boolean = plan match {
    case nothing: LocalTableScanExec => nothing.rows.nonEmpty
    case _: ProjectExec | _: FilterExec | _: UnionExec | _: ShuffleExchangeLike => plan.children.exists(mayHaveRows)
    case _: EventTimeWatermarkExec | _: SplitClocksExec | _: OperatorInputExec => plan.children.exists(mayHaveRows)
    case _ => true
  }

  private def expression(time: Expression, millis: Long): Option[Expression] =
    WatermarkSupport.watermarkExpression(Some(time), Some(millis))

  /** No row in state is at or before this time: the batch before evicted up to its bound, and later rows were not late
    * by their own watermark. Spark may skip that part of its state. Without it Spark scans everything, which is needed
    * if the batch before evicted less.
    */
  private def scannedUpTo(
      join: StreamingSymmetricHashJoinExec,
      bounds: JoinBounds,
      side: Side,
      watermarks: BatchWatermarks): Option[Long] =
    if (bounds.active(side).isEmpty || !bounds.boundsActive(side) || isWorkedOffFirst(join, side)) None
    else watermarks.evictedBeforeMillis(join, side).map(math.min(_, watermarks.lateMillis(join, side))).filter(_ > 0)

  /** Refuses a join input without a late filter: late rows would be joined. */
  private def requireFilter(
      join: StateStoreWriter,
      side: SparkPlan,
      active: Option[Attribute],
      watermarks: BatchWatermarks): Unit = {
    def has(plan: SparkPlan): Boolean = plan match {
      case input: OperatorInputExec => input.watermarks.input.nonEmpty
      case _: StateStoreWriter => false
      case other => other.children.size == 1 && has(other.children.head)
    }
    if (active.nonEmpty && !has(side))
      throw new TidemarkException(
        TidemarkError.TakeoverFailed(
          watermarks.label,
          s"an input of join ${join.stateInfo.get.operatorId} has no late filter"))
  }
}
