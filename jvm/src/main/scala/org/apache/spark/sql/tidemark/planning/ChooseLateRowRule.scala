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
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, LateRowRule}
import org.apache.spark.sql.tidemark.exec.OperatorInputExec
import org.apache.spark.sql.tidemark.exec.order.HoldExec

/** [[LateRowRule]] for the operators of a physical plan: the kind of each, and the column by which Spark's operator
  * drops late rows. It also finds where rows come in, and where Spark counts the late ones.
  */
private[tidemark] object ChooseLateRowRule {

  /** The kind of an operator. */
  def of(operator: StateStoreWriter): LateRowRule = operator match {
    case _: StreamingSymmetricHashJoinExec => LateRowRule.Join
    case save: StateStoreSaveExec => ofAggregation(save.outputMode)
    case save: SessionWindowStateStoreSaveExec => ofAggregation(save.outputMode)
    // A deduplication drops rows by their time, whether or not that is one of its keys.
    case _: StreamingDeduplicateExec | _: StreamingDeduplicateWithinWatermarkExec => LateRowRule.Deduplication
    case groups: FlatMapGroupsWithStateExec => ofFunction(groups.timeoutConf == EventTimeTimeout)
    case groups: FlatMapGroupsInPandasWithStateExec => ofFunction(groups.timeoutConf == EventTimeTimeout)
    case groups: TransformWithStateExec => ofFunction(groups.timeMode == TimeMode.EventTime())
    case groups: TransformWithStateInPySparkExec => ofFunction(groups.timeMode == TimeMode.EventTime())
    case hold: HoldExec => if (hold.order.dropsLate) LateRowRule.Order else LateRowRule.PassingOrder
    case _ => LateRowRule.NoEventTime
  }

  private def ofAggregation(mode: Option[OutputMode]): LateRowRule =
    if (mode.contains(InternalOutputModes.Complete)) LateRowRule.CompleteAggregation else LateRowRule.Aggregation

  private def ofFunction(usesEventTime: Boolean): LateRowRule =
    if (usesEventTime) LateRowRule.EventTimeFunction else LateRowRule.NoEventTime

  /** The column by which Spark's operator itself drops late rows; `None` if it does not. */
  def column(operator: StateStoreWriter): Option[Attribute] =
    if (of(operator).withoutInput != LateRowRule.Dropper.Operator) None
    else operator.children.head.output.find(EventTimeMarks.isMarked)

  /** Whether rows of an operator's input can be late. */
  def haveLateRows(operator: StateStoreWriter, input: OperatorInputExec): Boolean =
    if (passesLateRows(operator)) true
    else if (input.filters) of(operator).withInput == LateRowRule.Dropper.Input else column(operator).nonEmpty

  /** Whether an operator emits rows although they are late. */
  def passesLateRows(operator: StateStoreWriter): Boolean = of(operator) == LateRowRule.PassingOrder

  /** The node in which Spark counts an operator's late rows. */
  def countedIn(operator: StateStoreWriter): SparkPlan = operator match {
    case sessions: SessionWindowStateStoreSaveExec =>
      sessions.collectFirst { case restore: SessionWindowStateStoreRestoreExec => restore }.getOrElse(sessions)
    case other => other
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

  /** The last step of another aggregation may be right below: it needs its rows grouped by key, as every later step does. */
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
