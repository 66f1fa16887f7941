package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.EVENT_TIME_WATERMARK
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, TrackedColumns}
import org.apache.spark.sql.tidemark.session.SessionConf

/** A `withWatermark` on one column leaves the other event-time columns as they are.
  *
  * Spark's node removes the mark from every other column, so `window(other)` or a join above it would be resolved
  * without the mark. A projection above the node puts the marks back; the optimizer removes that projection.
  */
final class KeepMarksOfOtherColumns(session: SparkSession) extends Rule[LogicalPlan] {
  import KeepMarksOfOtherColumns._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(EVENT_TIME_WATERMARK) || !isKeyed(session.sessionState.conf)) plan
    else
      plan.resolveOperatorsUp {
        case origin: EventTimeWatermark if origin.resolved && origin.getTagValue(Kept).isEmpty =>
          val lost = lostMarks(origin, plan)
          if (lost.isEmpty) origin
          else {
            origin.setTagValue(Kept, ())
            Project(
              origin.output.zip(origin.child.output).map { case (after, before) =>
                if (lost(after.exprId)) after.withMetadata(before.metadata) else after
              },
              origin)
          }
      }

  /** The columns that a watermark of this plan has declared and that lose their mark. A mark that came with a table or
    * a Python map stays removed, as in Spark.
    */
  private def lostMarks(origin: EventTimeWatermark, whole: LogicalPlan): Set[ExprId] = {
    val marked = origin.child.output.filter(a => EventTimeMarks.isMarked(a) && !a.semanticEquals(origin.eventTime))
    if (marked.isEmpty) Set.empty
    else {
      val tracked = TrackedColumns.in(whole, Set.empty, followsInside = true).of(origin.child)
      marked.map(_.exprId).filter(id => tracked.get(id).exists(!_.marked)).toSet
    }
  }
}

private[tidemark] object KeepMarksOfOtherColumns {
  private val Kept = TreeNodeTag[Unit]("tidemark.otherMarksKept")

  private def isKeyed(conf: SQLConf): Boolean = SessionConf.enabled(conf) && SessionConf.leftToSpark(conf).isEmpty
}
