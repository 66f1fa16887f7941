package org.apache.spark.sql.tidemark.functions

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types._

/** `tidemark_event_time(column, options, split...)`: the column, with options for its watermark.
  *
  * It is a function, because a function with expressions as arguments reaches the engine from Python, SQL, Scala and
  * Spark Connect alike. It is never evaluated: [[ResolveEventTimes]] takes it out of the plan.
  */
object EventTimeFunction {
  val name: String = "tidemark_event_time"

  val description: SqlFunctions.Description = SqlFunctions.described(
    getClass,
    name,
    "(column, options, split...) - the column, with options for its watermark: " +
      "JSON, and the expressions that decide which split a row belongs to")(EventTimeExpression(_))
}

/** @param children column, options, splits */
private[tidemark] case class EventTimeExpression(children: Seq[Expression]) extends Expression with Unevaluable {
  if (children.size < 2) throw invalid(s"takes a column, options and splits, but was given ${children.size} arguments")

  // Checked here, before Spark extracts a generator and reports it in its own words.
  splits.find(_.exists {
    case _: Generator | _: AggregateFunction | _: AggregateExpression | _: WindowExpression => true
    case _ => false
  }).foreach(split => throw new TidemarkException(TidemarkError.SplitNotOfOneRow(split.sql)))

  def time: Expression = children.head
  def splits: Seq[Expression] = children.drop(2)

  def options: String = children(1) match {
    case Literal(text, StringType) if text != null => text.toString
    case other => throw invalid(s"takes its options as a literal, not as '${other.sql}'")
  }

  override def prettyName: String = EventTimeFunction.name
  override def dataType: DataType = time.dataType
  override def nullable: Boolean = time.nullable
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): EventTimeExpression =
    copy(children = newChildren)

  private def invalid(why: String) = new TidemarkException(TidemarkError.InvalidEventTime(why))
}
