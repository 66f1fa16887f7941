package org.apache.spark.sql.tidemark.exec.order

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, InOrder}
import org.apache.spark.sql.tidemark.exec.held.HeldOrder
import org.apache.spark.sql.types.StructType

/** The order of a batch: it asks for its rows by `by`, time and `thenBy`, and Spark plans the shuffle and the sort.
  *
  * The order over batches comes from [[HoldExec]] below: what it releases in a batch is later than all that it has
  * released before.
  *
  * @param timeName what the time is, in the words of the query
  * @param isGathered whether the child has already put each group into one partition
  */
case class InOrderExec(
    time: Attribute,
    timeName: String,
    by: Seq[Attribute],
    thenBy: Seq[Expression],
    isGathered: Boolean,
    child: SparkPlan)
    extends UnaryExecNode {

  /** What each group is sorted by, in the words of the query. */
  private[tidemark] def namedWithinGroups: Seq[(String, SortOrder)] = {
    // A window is sorted by its end, which is its event time everywhere.
    val times = if (time.dataType.isInstanceOf[StructType]) Seq(EventTimeMarks.micros(time), time) else Seq(time)
    (times.map(timeName -> _) ++ thenBy.map(by => InOrderExec.inWords(by) -> by)).map { case (name, value) =>
      name -> SortOrder(value, Ascending)
    }
  }

  private def order: Seq[SortOrder] = by.map(SortOrder(_, Ascending)) ++ namedWithinGroups.map(_._2)

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = order
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(order)

  override def requiredChildDistribution: Seq[Distribution] = Seq(
    if (isGathered) UnspecifiedDistribution
    else if (by.isEmpty) AllTuples
    // The partitions of operators with state, so that such an operator above needs no shuffle of its own.
    else ClusteredDistribution(by, requiredNumPartitions = Some(conf.numShufflePartitions)))

  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): InOrderExec = copy(child = newChild)
}

private[tidemark] object InOrderExec {

  /** An expression as the query's author would write it. */
  def inWords(expression: Expression): String = expression match {
    case column: Attribute => column.name
    case other => other.transform { case column: Attribute => column.withQualifier(Nil) }.sql
  }
}

/** Plans [[InOrder]]. */
object InOrderStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case InOrder(time, timeName, by, names, zone, repeated, thenBy, waits, dropsLate, isAdded, child) =>
      val rows =
        if (waits) HoldExec(HeldOrder(time, by, names, zone, repeated, dropsLate, isAdded), planLater(child))
        else planLater(child)
      InOrderExec(time, timeName, by, thenBy, isGathered = waits, rows) :: Nil
    case _ => Nil
  }
}
