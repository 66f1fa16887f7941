package org.apache.spark.sql.tidemark.batch

import java.util.UUID

import io.tidemark.core.OriginName
import io.tidemark.core.memory.{BatchStart, OriginRules, WatermarkEntry}
import io.tidemark.core.noted.WriterState
import io.tidemark.core.plan.{Decision, OperatorWatermarks, PropagatedNode, Propagation}

import org.apache.spark.sql.tidemark.functions.WatermarkExpression
import org.apache.spark.sql.tidemark.planning.{PlanShapeBuilder, WatermarkTarget}

/** What the expressions of a plan read in one batch. */
private[tidemark] object WatermarkValues {
  private val noWriters = Map.empty[String, WriterState]

  /** Expressions read the watermarks of the batch before, as late rows are judged by them. A time window is that of the
    * rows about to be read, by the entry of the batch before: so it is the same if the batch runs again.
    * @param entry that of the batch before; @param at when the batch is decided
    */
  def of(
      plan: PlanShapeBuilder.Translated,
      entry: WatermarkEntry,
      at: BatchStart,
      rules: Map[OriginName, OriginRules],
      eviction: OperatorWatermarks,
      decision: Decision): Map[UUID, WatermarkExpression.State] =
    if (plan.targets.isEmpty) Map.empty
    else {
      val late = Propagation.levels(plan.shape, entry.decision).root
      def watermark(of: WatermarkTarget.Single, decision: Decision, root: PropagatedNode) = of match {
        case WatermarkTarget.Origin(name) => decision.origin(name)
        case WatermarkTarget.Column(from, column) => root.outOf(from).column(column).watermark
      }
      plan.targets.map {
        case (id, of: WatermarkTarget.Single) => id -> WatermarkExpression.Value(watermark(of, entry.decision, late))
        case (id, WatermarkTarget.Window(of, origin)) =>
          val lower = watermark(of, decision, eviction.root).millis
          val upper = origin.flatMap { name =>
            NotedAhead.millis(entry.splitsAt(at, name, rules), entry.origins.get(name).fold(noWriters)(_.writers))
          }
          id -> WatermarkExpression.WindowValue(lower, upper)
      }
    }
}
