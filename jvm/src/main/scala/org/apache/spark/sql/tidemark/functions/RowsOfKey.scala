package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.tidemark.columns.{AsyncMap, InOrder, NoteTime, SplitMarker}

/** Whether the rows of a key are in one task. It trusts in what a query asks for, such as `repartition`, and not in how Spark
  * happens to plan a join: Spark may plan that otherwise in the next batch.
  */
private[functions] object RowsOfKey extends AliasHelper {

  /** @param key rows with the same value belong together, as do those with the same values of its parts if it is a struct */
  def areTogether(key: Expression, plan: LogicalPlan): Boolean = areTogether(parts(key), plan)

  private def areTogether(keys: Seq[Expression], plan: LogicalPlan): Boolean = plan match {
    case shuffle: RepartitionByExpression =>
      shuffle.optNumPartitions.contains(1) || areCovered(shuffle.partitionExpressions, keys, shuffle.child)
    case shuffle: Repartition => shuffle.numPartitions == 1
    // Without `by`, all rows are in one partition.
    case order: InOrder => order.by.isEmpty || areCovered(order.by, keys, order.child)
    // The rows of a batch in `foreachBatch`, and of a checkpoint.
    case rows: LogicalRDD => rows.outputPartitioning.satisfies(ClusteredDistribution(keys))
    case project: Project => areTogether(keys.map(inlined(_, project)), project.child)
    case sort: Sort if sort.global => false
    case _: Filter | _: Sort | _: Sample | _: Generate | _: SubqueryAlias | _: View | _: EventTimeWatermark |
        _: CollectMetrics | _: SplitMarker | _: NoteTime | _: AsyncMap =>
      areTogether(keys, plan.children.head)
    case _ => false
  }

  /** Whether rows with the same keys have the same values of what they are put together by. */
  private def areCovered(by: Seq[Expression], keys: Seq[Expression], child: LogicalPlan): Boolean = {
    val known = keys ++ keys.map(inlined(_, child))
    by.nonEmpty && by.forall { expression =>
      val value = expression match {
        case range: SortOrder => range.child
        case other => other
      }
      known.exists(key => key.semanticEquals(value) || key.semanticEquals(inlined(value, child)))
    }
  }

  private def inlined(expression: Expression, plan: LogicalPlan): Expression = plan match {
    case project: Project =>
      val aliases = getAliasMap(project)
      // Not `replaceAlias`, which keeps an alias with metadata inside a struct: event time has metadata.
      expression.transformUp { case column: Attribute => aliases.get(column).fold[Expression](column)(_.child) }
    case _ => expression
  }

  private def parts(key: Expression): Seq[Expression] = key match {
    case struct: CreateNamedStruct => key +: struct.valExprs.flatMap(parts)
    case _ => Seq(key)
  }
}
