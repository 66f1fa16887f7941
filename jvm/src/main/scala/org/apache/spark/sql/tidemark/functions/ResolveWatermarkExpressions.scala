package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.EventTimeMarks

/** Gives a [[WatermarkExpression]] its column if it names none, and marks it as one of a stream. Inside an aggregation
  * it moves below, because Spark aggregates no expression that is not deterministic.
  */
object ResolveWatermarkExpressions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case node if isReady(node) =>
      val named = if (node.isStreaming) withColumns(node) else node
      named match {
        case aggregate: Aggregate => pulledOut(aggregate, aggregate.child)
        case metrics: CollectMetrics => Project(metrics.output, pulledOut(metrics, metrics.child))
        case other => other
      }
  }

  private def withColumns(node: LogicalPlan): LogicalPlan = {
    val columns = node.children.flatMap(_.output).filter(EventTimeMarks.isMarked)
    node.transformExpressions {
      case reading: CurrentWatermark if reading.children.isEmpty && columns.size == 1 =>
        reading.copy(children = columns, state = WatermarkExpression.Awaited)
      case reading: WatermarkExpression if reading.key.isEmpty && !reading.of.exists(isIn(columns)) =>
        throw WatermarkExpression.noWatermark(reading, columns)
      case reading: WatermarkExpression => reading.withState(WatermarkExpression.Awaited)
    }
  }

  /** Uses Spark's mark, which is reliable in the analyzed plan; the optimizer replaces columns by their expressions
    * later.
    */
  private def isIn(columns: Seq[Attribute])(of: Expression): Boolean = of match {
    case column: Attribute => columns.exists(_.exprId == column.exprId)
    case _ => false
  }

  private def pulledOut(node: LogicalPlan, child: LogicalPlan): LogicalPlan = {
    // The same expression in SELECT and in GROUP BY becomes one column.
    val aliases = WatermarkExpression.in(node).distinctBy(written).map { reading =>
      written(reading) -> Alias(reading, reading.sql)()
    }
    val columns = aliases.toMap
    node
      .transformExpressions { case reading: WatermarkExpression => columns(written(reading)).toAttribute }
      .withNewChildren(Seq(Project(child.output ++ aliases.map(_._2), child)))
  }

  private def isReady(node: LogicalPlan): Boolean =
    node.childrenResolved && WatermarkExpression.isIn(node) && node.expressions.forall(_.resolved)

  private def written(reading: WatermarkExpression): (String, Seq[Expression]) =
    (reading.prettyName, reading.children.map(_.canonicalized))
}
