package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.tidemark.columns.OrderRequest
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}

/** `tidemark_in_order(time, options, by..., then...)`: a condition of a filter that passes all rows, in order.
  *
  * A filter keeps the columns, and every client can send one. A session without the extension does not know the
  * function, so an order that was asked for never vanishes. [[ResolveInOrder]] replaces the filter.
  */
object InOrderFunction {
  val name: String = "tidemark_in_order"

  val description: SqlFunctions.Description = SqlFunctions.described(
    getClass,
    name,
    "(time, options, by..., then...) - as a condition of WHERE: the rows in the order of an event time, each group of " +
      "equal 'by' values together. The options are JSON") { arguments =>
    val order = InOrderExpression(arguments)
    // Bad options fail here, before Spark takes a generator for a step of its own.
    order.request
    arguments.find(_.exists {
      case _: Generator => true
      case _: AggregateFunction | _: AggregateExpression | _: WindowExpression => true
      case _ => false
    }).foreach { argument =>
      throw OrderRequest.invalid(
        s"orders by '${argument.sql}', which is not one value of each row: add it as a column first")
    }
    order
  }
}

/** @param children time, options, and the expressions to group by and to break ties by */
private[tidemark] case class InOrderExpression(children: Seq[Expression]) extends Expression with Unevaluable {

  lazy val request: OrderRequest = children.lift(1) match {
    case Some(Literal(text, StringType)) if text != null => OrderRequest.parse(text.toString, children.size - 2)
    case Some(other) => throw OrderRequest.invalid(s"takes its options as a literal, not as '${other.sql}'")
    case None =>
      throw OrderRequest.invalid(s"takes a time, options and expressions, but was given ${children.size} arguments")
  }

  def time: Expression = children.head
  def by: Seq[Expression] = children.drop(2).dropRight(request.thenBy)
  def thenBy: Seq[Expression] = children.takeRight(request.thenBy)

  override def prettyName: String = InOrderFunction.name
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  // A filter with it must stay where the user has put it, until it is replaced.
  override lazy val deterministic: Boolean = false
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): InOrderExpression =
    copy(children = newChildren)
}
