package org.apache.spark.sql.tidemark.functions

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.tidemark.columns.NoteOptions
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{DataType, StringType}

/** `tidemark_note_time(column, options)`: the column, by whose watermark the query notes how far its output is.
  *
  * It is a function for the same reason as [[EventTimeFunction]], and [[ResolveNoteTimes]] takes it out of the plan.
  */
object NoteTimeFunction {
  val name: String = "tidemark_note_time"

  val description: SqlFunctions.Description = SqlFunctions.described(
    getClass,
    name,
    "(column, options) - the event-time column, by whose watermark a streaming query notes how far its output is: the " +
      "options are JSON, with the location of the mark log in 'to'") {
    case Seq(column, options) => NoteTimeExpression(column, options)
    case other => throw new TidemarkException(TidemarkError.WrongArguments(name, "a column and options", other.size))
  }
}

private[tidemark] case class NoteTimeExpression(column: Expression, json: Expression)
    extends BinaryExpression
    with Unevaluable {

  /** The options; `None` if they are not a literal, which [[ResolveNoteTimes]] refuses. */
  val options: Option[NoteOptions] = json match {
    case Literal(text, StringType) if text != null => Some(NoteOptions.parse(text.toString))
    case _ => None
  }

  override def left: Expression = column
  override def right: Expression = json
  override def prettyName: String = NoteTimeFunction.name
  override def dataType: DataType = column.dataType
  override def nullable: Boolean = column.nullable
  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): NoteTimeExpression =
    copy(newLeft, newRight)
}
