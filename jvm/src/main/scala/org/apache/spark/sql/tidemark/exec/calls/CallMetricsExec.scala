package org.apache.spark.sql.tidemark.exec.calls

import io.tidemark.core.calls.CallStats

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, GenericRowWithSchema, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{CollectMetricsExec, ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.python.ArrowEvalPythonExec
import org.apache.spark.sql.tidemark.columns.PythonCalls
import org.apache.spark.sql.tidemark.exec.{BatchOfTasks, MetricNames}
import org.apache.spark.sql.types._

/** Publishes what the asynchronous calls of a batch were, in the `observedMetrics` of its progress, as `tidemark_calls_` and
  * the column. The node is the one that `observe` adds, but it aggregates nothing.
  *
  * @param at the place of Python's results in a row, which carry what the worker says of its calls; `None` above an
  *   [[AsyncMapExec]], which knows itself
  */
final class CallMetricsExec(
    name: String,
    metricExpressions: Seq[NamedExpression],
    child: SparkPlan,
    private[tidemark] val column: String,
    at: Option[Int])
    extends CollectMetricsExec(name, metricExpressions, child) with MetricNames {

  @transient private lazy val ofPython: CallsSeen = {
    val seen = new CallsSeen
    sparkContext.register(seen)
    seen
  }

  private[tidemark] def stats: CallStats = child match {
    case calls: AsyncMapExec => calls.seen.value
    case _ => ofPython.value
  }

  override def collectedMetrics: Row =
    new GenericRowWithSchema(CallMetricsExec.fields(stats).map(_._2).toArray, metricsSchema)

  override protected def doExecute(): RDD[InternalRow] = at.fold(rowsOfBatch) { place =>
    val seen = ofPython
    rowsOfBatch.mapPartitionsInternal { rows =>
      var sum = CallStats.none
      seen.whenTaskEnds(sum)
      KilledTasks.watch(TaskContext.get())
      rows.map { row =>
        if (!row.isNullAt(place)) {
          val result = row.getStruct(place, PythonCalls.Fields)
          if (!result.isNullAt(PythonCalls.StatsAt))
            CallStats.parse(result.getUTF8String(PythonCalls.StatsAt).toString).foreach(more => sum += more)
        }
        row
      }
    }
  }

  private def rowsOfBatch: RDD[InternalRow] = BatchOfTasks.withBatch(child.execute())

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(column, at)

  override protected def withNewChildInternal(newChild: SparkPlan): CallMetricsExec =
    new CallMetricsExec(name, metricExpressions, newChild, column, at)
}

object CallMetricsExec {
  private val Prefix = "tidemark_calls_"

  private val types: Seq[(String, DataType)] =
    Seq("calls", "retries", "failed", "timed_out", "defaulted").map(_ -> LongType) ++
      Seq("most_in_flight" -> IntegerType) ++
      Seq("p50_ms", "p99_ms", "slowest_ms").map(_ -> DoubleType) ++
      Seq("slowest" -> StringType)

  /** What is said of calls, by name. */
  private[tidemark] def fields(of: CallStats): Seq[(String, Any)] = types.map(_._1).zip(Seq[Any](
    of.calls,
    of.retries,
    of.failed,
    of.timedOut,
    of.defaulted,
    of.mostInFlight,
    of.quantileMillis(0.5).map(Double.box).orNull,
    of.quantileMillis(0.99).map(Double.box).orNull,
    of.slowest.map(slow => Double.box(slow.millis)).orNull,
    of.slowest.map(_.inputs).orNull))

  /** A plan with such a node above all calls. */
  private[tidemark] def over(plan: SparkPlan): SparkPlan = {
    val taken = scala.collection.mutable.Set.from(plan.collect { case observed: CollectMetricsExec => observed.name })

    def seen(calls: SparkPlan, column: String, at: Option[Int]): SparkPlan = {
      val first = s"$Prefix$column"
      val name = (Iterator(first) ++ Iterator.from(2).map(n => s"$first$n")).find(taken.add).get
      val metrics = types.map { case (field, of) => Alias(Literal(null, of), field)() }
      new CallMetricsExec(name, metrics, calls, column, at)
    }

    def walk(node: SparkPlan): SparkPlan = node match {
      case done: CallMetricsExec => done.mapChildren {
          case another: CallMetricsExec => walk(another)
          case calls => calls.mapChildren(walk)
        }
      case calls: AsyncMapExec => seen(calls.mapChildren(walk), calls.result.name, None)
      case python: ArrowEvalPythonExec =>
        val all = python.udfs.zip(python.resultAttrs).flatMap { case (call, result) =>
          PythonCalls.columnOf(call).filter(_ => PythonCalls.hasStats(result.dataType)).map(_ -> result.exprId)
        }
        all.foldLeft(python.mapChildren(walk): SparkPlan) { case (below, (column, id)) =>
          seen(below, column, Some(below.output.indexWhere(_.exprId == id)))
        }
      case other => other.mapChildren(walk)
    }
    walk(plan)
  }
}

/** Adds [[CallMetricsExec]] to every plan with asynchronous calls. */
object SeeCalls extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = SeeCalls.getClass.getName
    override def apply(plan: SparkPlan): SparkPlan = CallMetricsExec.over(plan)
  }
}
