package org.apache.spark.sql.tidemark.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, GenericRowWithSchema, Literal, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec

/** Publishes the late rows of a batch in the `observedMetrics` of its progress, under the name `tidemark`.
  *
  * The metrics are `late_rows` and one for each operator input, such as `late_rows_0` or `late_rows_1_left`. If the
  * user already observes something as `tidemark`, the name is `tidemark_late_rows`. The node is the one that `observe`
  * adds, but it counts nothing: [[OperatorInputExec]] already has.
  */
final class LateRowsMetricsExec(name: String, metricExpressions: Seq[NamedExpression], child: SparkPlan)
    extends CollectMetricsExec(name, metricExpressions, child) {

  override def collectedMetrics: Row = {
    val rows = LateRowsMetricsExec.counting(child).flatMap(_.late).map(_.value.rows)
    new GenericRowWithSchema((rows.sum +: rows).toArray, metricsSchema)
  }

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): LateRowsMetricsExec =
    new LateRowsMetricsExec(name, metricExpressions, newChild)
}

object LateRowsMetricsExec {
  private val Name = "tidemark"
  private val OtherName = "tidemark_late_rows"

  /** The plan of a query with this node on top, if anything in it counts late rows. */
  private[tidemark] def over(plan: SparkPlan): SparkPlan = plan match {
    case write: V2TableWriteExec => write.withNewChildren(write.children.map(over))
    case done: LateRowsMetricsExec => done
    case other =>
      val inputs = counting(other).flatMap(_.levels.input)
      if (inputs.isEmpty) other
      else {
        val joins = other.collect { case join: StreamingSymmetricHashJoinExec => join.stateInfo.get.operatorId }.toSet
        val names = inputs.map { input =>
          val side = if (joins(input.operator.value)) s"_${input.side.name}" else ""
          s"late_rows_${input.operator.value}$side"
        }
        new LateRowsMetricsExec(freeName(other), ("late_rows" +: names).map(Alias(Literal(0L), _)()), other)
      }
  }

  /** A name that nothing observes under yet: of several metrics with one name Spark silently keeps one. */
  private def freeName(plan: SparkPlan): String = {
    val taken = plan.collect { case observed: CollectMetricsExec => observed.name }.toSet
    (Iterator(Name, OtherName) ++ Iterator.from(2).map(n => s"$OtherName$n")).find(!taken(_)).get
  }

  private def counting(plan: SparkPlan): Seq[OperatorInputExec] =
    plan.collect { case input: OperatorInputExec if input.levels.lateMillis.nonEmpty => input }
      .sortBy(_.levels.input.map(in => (in.operator.value, in.side.name)))
}
