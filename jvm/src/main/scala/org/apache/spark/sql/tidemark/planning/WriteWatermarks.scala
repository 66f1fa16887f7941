package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.Side

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.{StateStoreWriter, StreamingDeduplicateExec}
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.tidemark.exec.{LateRowsMetricsExec, OperatorInputExec, SplitClocksExec}
import org.apache.spark.sql.tidemark.exec.eviction.DeferredDeduplicateExec
import org.apache.spark.sql.tidemark.exec.order.HoldExec
import org.apache.spark.sql.tidemark.functions.WatermarkExpression

/** Writes the late and eviction watermarks of a batch into the plan that Spark has prepared.
  *
  * Spark has filled in one number per operator. This fills in what Spark has no place for: the two sides of joins, and
  * operators with several event-time columns. Their [[OperatorInputExec]] gets the watermark that decides which rows
  * are late (batch n-1's), and a join gets the predicates that evict each side's state (batch n's). Idempotent.
  */
private[tidemark] object WriteWatermarks {

  def apply(plan: SparkPlan, watermarks: BatchWatermarks): SparkPlan =
    LateRowsMetricsExec.over(waiting(write(plan, watermarks), watermarks), watermarks.promised, watermarks.observed)

  /** With operators that leave their state alone in this batch, where that makes no difference. */
  private def waiting(plan: SparkPlan, watermarks: BatchWatermarks): SparkPlan = {
    val patient = plan.transformUp {
      case dedup: StreamingDeduplicateExec if mayWait(dedup, watermarks) =>
        DeferredDeduplicateExec.of(dedup, dedup.child)
    }
    if (watermarks.scansWhenDue) PlanDueScans.in(patient, watermarks) else patient
  }

  /** A row with an expired key is late, so the key may stay in state. */
  private def mayWait(dedup: StreamingDeduplicateExec, watermarks: BatchWatermarks): Boolean =
    dedup.child.output.find(EventTimeMarks.isMarked).exists { time =>
      dedup.keyExpressions.exists(_.exprId == time.exprId) && watermarks.mayWait(dedup, Side.Left, time)
    }

  /** The plan with the watermarks that its expressions read. */
  def readIn(plan: SparkPlan)(read: WatermarkExpression => WatermarkExpression): SparkPlan = plan.transformUp {
    case node if WatermarkExpression.isIn(node) =>
      node.transformExpressions { case reading: WatermarkExpression => read(reading) }
  }

  private def write(plan: SparkPlan, watermarks: BatchWatermarks): SparkPlan =
    written(readIn(plan)(watermarks.read), watermarks)

  /** From the inputs up. A join is copied once, with its new inputs and watermarks together. */
  private def written(plan: SparkPlan, watermarks: BatchWatermarks): SparkPlan = plan match {
    case join: StreamingSymmetricHashJoinExec
        if watermarks.knows(join, Side.Left) || watermarks.knows(join, Side.Right) =>
      val left = filled(written(join.left, watermarks), join, Side.Left, watermarks)
      val right = filled(written(join.right, watermarks), join, Side.Right, watermarks)
      withTagsOf(join, JoinWatermarks.write(join, left, right, watermarks))
    case other =>
      val above = other.mapChildren(written(_, watermarks))
      withTagsOf(
        above,
        above match {
          case clocks: SplitClocksExec => watermarks.limit(clocks)
          case hold: HoldExec if watermarks.knows(hold, Side.Left) =>
            watermarks.release(hold.copy(child = filled(hold.child, hold, Side.Left, watermarks)))
          case writer: StateStoreWriter if watermarks.knows(writer, Side.Left) && writer.children.nonEmpty =>
            val input = filledOrCounted(writer.children.head, writer, watermarks)
            if (input eq writer.children.head) writer else writer.withNewChildren(input +: writer.children.tail)
          case same => same
        })
  }

  /** As Spark does where a rule replaces a node. */
  private def withTagsOf(before: SparkPlan, after: SparkPlan): SparkPlan = {
    if (after ne before) after.copyTagsFrom(before)
    after
  }

  /** With the operator's own [[OperatorInputExec]] filled in: the first one below it, with nothing stateful in between. */
  private def filled(plan: SparkPlan, operator: StateStoreWriter, side: Side, watermarks: BatchWatermarks): SparkPlan =
    own(plan).fold(plan)(input => ChooseLateRowRule.replaced(plan, input, watermarks.fill(input, operator, side)))

  /** The same as [[filled]]. An operator without such a node gets a node that counts the rows which it is about to drop. */
  private def filledOrCounted(plan: SparkPlan, operator: StateStoreWriter, watermarks: BatchWatermarks): SparkPlan =
    if (own(plan).nonEmpty) filled(plan, operator, Side.Left, watermarks)
    else
      ChooseLateRowRule.column(operator).fold(plan) { column =>
        ChooseLateRowRule.insert(plan, operator, column) { (below, at) =>
          watermarks.fill(
            OperatorInputExec(Some(at), Nil, filters = false, OperatorInputExec.Unset, below),
            operator,
            Side.Left)
        }
      }

  private def own(plan: SparkPlan): Option[OperatorInputExec] =
    ChooseLateRowRule.path(plan).collectFirst { case input: OperatorInputExec => input }
}
