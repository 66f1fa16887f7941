package org.apache.spark.sql.tidemark.exec.calls

import scala.concurrent.Future
import scala.util.control.NonFatal

import io.tidemark.{AsyncErrors, TidemarkException}
import io.tidemark.core.calls.{CallIds, CallStats}

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, SQLExecution, UnaryExecNode}
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, StreamExecution}
import org.apache.spark.sql.tidemark.columns.{AsyncClient, AsyncMap, AsyncRules, BinaryKey}

/** Makes the calls of [[AsyncMap]], many at one time in each task. */
case class AsyncMapExec(
    inputs: Seq[Expression],
    key: Option[Expression],
    result: Attribute,
    open: () => AsyncClient,
    rules: AsyncRules,
    child: SparkPlan)
    extends UnaryExecNode {
  import AsyncMapExec.{opened, task}

  override def output: Seq[Attribute] = child.output :+ result
  override def producedAttributes: AttributeSet = AttributeSet(result)
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = if (rules.ordered) child.outputOrdering else Nil

  @transient private[exec] lazy val seen: CallsSeen = {
    val seen = new CallsSeen
    sparkContext.register(seen)
    seen
  }

  override protected def doExecute(): RDD[InternalRow] = {
    // Nothing of the plan goes to the tasks but these.
    val (arguments, keyColumn, below, all, added, asked, opening, calls) =
      (inputs, key.map(BinaryKey.of), child.output, output, result, rules, open, seen)
    child.execute().mapPartitionsInternal { rows =>
      val conversion = new AsyncConversion(arguments, below, added, asked.names)
      val keyOf = keyColumn.map(expression => UnsafeProjection.create(Seq(expression), below))
      val unsafe = UnsafeProjection.create(all, all)
      val ids = new CallIds(s"${task(asked.origin)}/${added.name}")
      val counter = new CallStats.Counter
      calls.whenTaskEnds(counter.result)
      new AsyncRows(rows, () => opened(opening, added.name), keyOf, conversion, ids, counter, asked).map(unsafe)
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): AsyncMapExec = copy(child = newChild)
}

private object AsyncMapExec {

  /** What a task calls. Its client is closed when the task ends, in whatever way. */
  def opened(open: () => AsyncClient, column: String): Row => Future[Any] = {
    val client = named(column)(open())
    TaskContext.get().addTaskCompletionListener[Unit](_ => named(column)(client.close()))
    client.call
  }

  /** What this task does, in all of its attempts and in no other task. A batch query has no id that a restart keeps. */
  def task(origin: String): String = {
    val context = TaskContext.get()
    val query = Option(context.getLocalProperty(StreamExecution.QUERY_ID_KEY)).map { query =>
      s"$query/${context.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY)}"
    }.getOrElse(s"$origin/${context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)}")
    s"$query/${context.partitionId()}"
  }

  private def named[A](column: String)(body: => A): A =
    try body
    catch {
      case NonFatal(error) =>
        throw new TidemarkException(
          AsyncErrors.AsyncServiceFailed(column, AsyncConversion.oneLine(error)),
          AsyncConversion.printable(error))
    }
}

/** Plans [[AsyncMap]]. */
object AsyncMapStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case AsyncMap(inputs, key, result, open, rules, child) =>
      AsyncMapExec(inputs, key, result, open, rules, planLater(child)) :: Nil
    case _ => Nil
  }
}
