package org.apache.spark.sql.tidemark.exec

import io.tidemark.core.{Input, OriginName}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, GenericRowWithSchema, Literal, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.V2TableWriteExec
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec

/** Publishes the late rows of a batch in the `observedMetrics` of its progress, under the name `tidemark`.
  *
  * The metrics are `late_rows` and one for each operator input, such as `late_rows_0` or `late_rows_1_left`. Where an operator
  * emits late rows nonetheless, its own is called `passed_rows_0`, and `late_rows` is without them. Where writers
  * have noted their times, `promises_broken` counts the late rows that should not be, and there is one more for each
  * watermark, such as `promises_broken_orders`. If the user already observes something as `tidemark`, the name is
  * `tidemark_late_rows`. Further fields say why nothing comes out, and how far the watermarks are. The node is the one that `observe` adds, but it counts nothing: [[OperatorInputExec]] already has.
  *
  * @param promised the inputs to which no late rows should come, each with the origins of its watermark
  * @param more the further fields
  */
final class LateRowsMetricsExec(
    name: String,
    metricExpressions: Seq[NamedExpression],
    child: SparkPlan,
    promised: Map[Input, Seq[OriginName]],
    @transient more: ObservedFields)
    extends CollectMetricsExec(name, metricExpressions, child) with MetricNames {

  override def collectedMetrics: Row = {
    val counted = LateRowsMetricsExec.counting(child)
    def rowsOf(inputs: Seq[OperatorInputExec]) = inputs.flatMap(_.late).map(_.value.rows)
    val dropped = counted.filterNot(_.watermarks.passes)
    val broken = dropped.flatMap(operator =>
      operator.watermarks.input.filter(promised.contains).zip(operator.late.map(_.value.rows)))
    val perOrigin = LateRowsMetricsExec.origins(promised).map { origin =>
      broken.collect { case (input, late) if promised(input).contains(origin) => late }.sum
    }
    val promises = if (promised.isEmpty) Nil else broken.map(_._2).sum +: perOrigin
    new GenericRowWithSchema(
      ((rowsOf(dropped).sum +: rowsOf(counted)) ++ promises ++ more.values()).toArray,
      metricsSchema)
  }

  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(promised, more)

  override protected def withNewChildInternal(newChild: SparkPlan): LateRowsMetricsExec =
    new LateRowsMetricsExec(name, metricExpressions, newChild, promised, more)
}

object LateRowsMetricsExec {
  private val Name = "tidemark"
  private val OtherName = "tidemark_late_rows"

  /** The plan of a query with this node on top, if an operator in it uses a watermark. */
  private[tidemark] def over(
      plan: SparkPlan,
      promised: Map[Input, Seq[OriginName]],
      more: ObservedFields): SparkPlan = plan match {
    case write: V2TableWriteExec => write.withNewChildren(write.children.map(over(_, promised, more)))
    case done: LateRowsMetricsExec => done
    case other =>
      val counted = counting(other).filter(_.watermarks.input.nonEmpty)
      if (counted.isEmpty) other
      else {
        val joins = other.collect { case join: StreamingSymmetricHashJoinExec => join.stateInfo.get.operatorId }.toSet
        val names = counted.map { operator =>
          val input = operator.watermarks.input.get
          val side = if (joins(input.operator.value)) s"_${input.side.name}" else ""
          s"${if (operator.watermarks.passes) "passed" else "late"}_rows_${input.operator.value}$side"
        }
        val promises =
          if (promised.isEmpty) Nil
          else "promises_broken" +: origins(promised).map(origin => s"promises_broken_$origin")
        val metrics = ("late_rows" +: names) ++ promises
        val expressions = metrics.map(Alias(Literal(0L), _)()) ++
          more.columns.map { case (name, of) => Alias(Literal(null, of), name)() }
        new LateRowsMetricsExec(freeName(other), expressions, other, promised, more)
      }
  }

  /** A name that nothing observes under yet: of several metrics with one name Spark silently keeps one. */
  private def freeName(plan: SparkPlan): String = {
    val taken = plan.collect { case observed: CollectMetricsExec => observed.name }.toSet
    (Iterator(Name, OtherName) ++ Iterator.from(2).map(n => s"$OtherName$n")).find(!taken(_)).get
  }

  private def origins(promised: Map[Input, Seq[OriginName]]): Seq[OriginName] =
    promised.values.flatten.toSeq.distinct.sortBy(_.toString)

  private def counting(plan: SparkPlan): Seq[OperatorInputExec] =
    plan.collect { case input: OperatorInputExec if input.watermarks.lateMillis.nonEmpty => input }
      .sortBy(_.watermarks.input.map(in => (in.operator.value, in.side.name)))
}
