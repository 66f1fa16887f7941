package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.EventTimeTimeout
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.python.streaming.{
  FlatMapGroupsInPandasWithStateExec,
  TransformWithStateInPySparkExec
}
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate.FlatMapGroupsWithStateExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.tidemark.columns.EventTimeColumns

/** Which of Spark's operators drop late rows themselves, by which column, and where their rows come in. */
private[tidemark] object LateRowFilters {

  /** The column by which an operator drops rows; `None` if it takes all. */
  def column(operator: StateStoreWriter): Option[Attribute] = {
    def marked(plan: SparkPlan) = plan.output.find(EventTimeColumns.isMarked)
    operator match {
      case _ if takesAll(operator) => None
      case groups: FlatMapGroupsWithStateExec =>
        marked(groups.child).filter(_ => groups.timeoutConf == EventTimeTimeout)
      case groups: FlatMapGroupsInPandasWithStateExec =>
        marked(groups.child).filter(_ => groups.timeoutConf == EventTimeTimeout)
      case groups: TransformWithStateExec => marked(groups.child).filter(_ => groups.timeMode == TimeMode.EventTime())
      case groups: TransformWithStateInPySparkExec =>
        marked(groups.child).filter(_ => groups.timeMode == TimeMode.EventTime())
      // A deduplication does so by the time of its rows, whether or not that is one of its keys.
      case _: StreamingDeduplicateExec | _: StreamingDeduplicateWithinWatermarkExec => marked(operator.children.head)
      case _: StateStoreSaveExec | _: SessionWindowStateStoreSaveExec => marked(operator.children.head)
      case _ => None
    }
  }

  /** In complete mode an aggregation has no late rows, in Spark as here: nothing is ever evicted. */
  def takesAll(operator: StateStoreWriter): Boolean = operator match {
    case save: StateStoreSaveExec => save.outputMode.contains(InternalOutputModes.Complete)
    case save: SessionWindowStateStoreSaveExec => save.outputMode.contains(InternalOutputModes.Complete)
    case _ => false
  }

  /** The nodes of an operator's own from its input on downwards, as long as there is one way to go. */
  def path(plan: SparkPlan): Iterator[SparkPlan] =
    Iterator.iterate(Option(plan))(_.flatMap(down)).takeWhile(_.nonEmpty).flatten

  /** With a node where an operator's rows come in: below the first step of an aggregation, else right below it. The node
    * is given what is below it, and the column there. Where the first step does not name the column, rows are counted
    * where Spark counts them, after that step.
    */
  def insert(plan: SparkPlan, operator: StateStoreWriter, column: Attribute)(
      node: (SparkPlan, Attribute) => SparkPlan): SparkPlan =
    firstStep(plan, operator) match {
      case Some(step) =>
        val below = step.children.head
        val named = step.groupingExpressions.collectFirst {
          case a: Attribute if a.exprId == column.exprId => a
          case alias @ Alias(a: Attribute, _) if alias.exprId == column.exprId => a
        }
        named.filter(a => below.output.exists(_.exprId == a.exprId)) match {
          case Some(a) => replaced(plan, below, node(below, a))
          case None =>
            val filtered = whereSparkFilters(plan)
            replaced(plan, filtered, node(filtered, column))
        }
      case None => node(plan, column)
    }

  /** The last step of another aggregation may be right below: it wants its rows gathered, as all steps but a first one do. */
  private def firstStep(plan: SparkPlan, operator: StateStoreWriter): Option[BaseAggregateExec] = operator match {
    case _: StateStoreSaveExec | _: SessionWindowStateStoreSaveExec =>
      val steps = path(plan).collect { case step: BaseAggregateExec => step }
      def isFirst(step: BaseAggregateExec) = step.requiredChildDistributionExpressions.isEmpty
      steps.dropWhile(!isFirst(_)).takeWhile(isFirst).toSeq.lastOption
    case _ => None
  }

  /** Sessions before they are merged with those in state, all others as they go into it. */
  private def whereSparkFilters(plan: SparkPlan): SparkPlan =
    path(plan).collectFirst { case restore: SessionWindowStateStoreRestoreExec => restore.child }.getOrElse(plan)

  /** With one node of a [[path]] replaced. */
  def replaced(plan: SparkPlan, old: SparkPlan, now: SparkPlan): SparkPlan =
    if (plan eq old) now else plan.withNewChildren(Seq(replaced(plan.children.head, old, now)))

  private def down(plan: SparkPlan): Option[SparkPlan] = plan match {
    case _: StateStoreWriter => None
    case other => Option.when(other.children.size == 1)(other.children.head)
  }
}
