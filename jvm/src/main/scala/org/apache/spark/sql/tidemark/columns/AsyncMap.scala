package org.apache.spark.sql.tidemark.columns

import scala.concurrent.Future

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Adds the result of an asynchronous call to each row. The other columns are the child's, with their watermarks.
  *
  * @param inputs what the function is given
  * @param key of rows with an equal value, at most one call is in flight in a task; they are in one
  * @param result the new column
  * @param open makes the client of a task, on the executor
  */
private[tidemark] case class AsyncMap(
    inputs: Seq[Expression],
    key: Option[Expression],
    result: Attribute,
    open: () => AsyncClient,
    rules: AsyncRules,
    child: LogicalPlan)
    extends UnaryNode {
  override def output: Seq[Attribute] = child.output :+ result
  override def producedAttributes: AttributeSet = AttributeSet(result)
  override protected def withNewChildInternal(newChild: LogicalPlan): AsyncMap = copy(child = newChild)
}

/** Makes the calls of one task. */
private[tidemark] final case class AsyncClient(call: Row => Future[Any], close: () => Unit)

/** How calls are made.
  *
  * @param names of the inputs, for messages
  * @param concurrency how many calls one task has in flight
  * @param timeoutMillis how long a call may take
  * @param retries how often a call is made again
  * @param backoffMillis how long a row waits at most before its first retry; twice as long before each further one
  * @param failsQuery whether a row whose last call fails ends the query. If not, its result is null
  * @param ordered whether rows keep their order
  * @param skipsNulls whether rows whose inputs are all null get a null without a call
  * @param origin which `mapAsync` it is, the same in all of its tasks and in no other's
  */
private[tidemark] final case class AsyncRules(
    names: Seq[String],
    concurrency: Int,
    timeoutMillis: Option[Long],
    retries: Int,
    backoffMillis: Long,
    failsQuery: Boolean,
    ordered: Boolean,
    skipsNulls: Boolean,
    origin: String)
