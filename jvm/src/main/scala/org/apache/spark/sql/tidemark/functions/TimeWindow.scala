package org.apache.spark.sql.tidemark.functions

import java.util.UUID

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.EventTimeUnits

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types._

/** `tidemark_time_window(column or key)`: between which times the rows of a batch are, as their writers have noted it.
  * Both fields are null in batch queries.
  */
case class TimeWindow(child: Expression, id: UUID, state: WatermarkExpression.State = WatermarkExpression.Batch)
    extends UnaryExpression
    with WatermarkExpression {
  override def of: Option[Expression] = Some(child)
  override def withState(state: WatermarkExpression.State): TimeWindow = copy(state = state)
  override protected def takesKey: Boolean = true

  override def prettyName: String = TimeWindow.name
  override def dataType: DataType = TimeWindow.Type
  override def nullable: Boolean = false
  // A key is constant, but its watermark is not.
  override def foldable: Boolean = false

  @transient private lazy val value: InternalRow = state match {
    case WatermarkExpression.Awaited => throw new TidemarkException(TidemarkError.WatermarkNotRead(sql))
    case WatermarkExpression.WindowValue(lower, upper) => InternalRow(micros(lower), micros(upper))
    case _ => InternalRow(null, null)
  }

  private def micros(millis: Option[Long]): Any = millis.map(EventTimeUnits.micros).orNull

  override def eval(input: InternalRow): Any = value

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(code"InternalRow ${ev.value} = (InternalRow) ${evaluated(ctx)};", FalseLiteral)

  override protected def withNewChildInternal(newChild: Expression): TimeWindow = copy(child = newChild)
}

object TimeWindow {
  val name: String = "tidemark_time_window"

  private val Type = StructType(Seq(StructField("lower", TimestampType), StructField("upper", TimestampType)))

  val description: SqlFunctions.Description = SqlFunctions.described(
    getClass,
    name,
    "(column or key) - between which times the rows of this batch are, as their writers have noted it: the watermark of " +
      "the batch, and the next time that is noted ahead; both null in batch queries") {
    case Seq(column) => TimeWindow(column, UUID.randomUUID())
    case other => throw new TidemarkException(TidemarkError.WrongArguments(name, "a column or a key", other.size))
  }
}
