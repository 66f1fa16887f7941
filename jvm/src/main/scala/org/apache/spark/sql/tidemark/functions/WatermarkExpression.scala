package org.apache.spark.sql.tidemark.functions

import java.util.UUID

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{EventTimeUnits, Watermark}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types._

/** An expression whose value depends on the watermark at its place in a streaming plan: the watermark that decides
  * which rows are late there in this batch.
  *
  * It is not deterministic for Spark, so the optimizer never moves it. Every copy of the plan keeps its id, by which
  * [[ApplyWatermarks]] fills in the watermark for each batch. A batch query has no watermark.
  */
trait WatermarkExpression extends Expression {
  def id: UUID

  /** The event-time column, or a key as text; `None` means the only event-time column there is. */
  def of: Option[Expression]
  def state: WatermarkExpression.State
  def withState(state: WatermarkExpression.State): WatermarkExpression

  /** The watermark; `None` in a batch query.
    *
    * @throws TidemarkException in a streaming query where no watermark was filled in
    */
  final protected def read: Option[WatermarkExpression.Value] = state match {
    case WatermarkExpression.Batch | _: WatermarkExpression.WindowValue => None
    case WatermarkExpression.Awaited => throw new TidemarkException(TidemarkError.WatermarkNotRead(sql))
    case read: WatermarkExpression.Value => Some(read)
  }

  /** Interpreted evaluation, for a plan whose watermark is not filled in: the error is raised when a row is evaluated,
    * not when the plan is explained.
    */
  final protected def evaluated(ctx: CodegenContext): String =
    s"${ctx.addReferenceObj("reading", this, classOf[Expression].getName)}.eval(null)"

  final def key: Option[String] = of.collect { case Literal(text, _: StringType) if text != null => text.toString }

  override lazy val deterministic: Boolean = false

  override def checkInputDataTypes(): TypeCheckResult = of.map(_.dataType) match {
    case None | Some(_: TimestampType) | Some(StructType(Array(_, StructField(_, _: TimestampType, _, _)))) =>
      TypeCheckResult.TypeCheckSuccess
    case Some(_) if takesKey && key.nonEmpty => TypeCheckResult.TypeCheckSuccess
    case Some(other) =>
      TypeCheckResult.TypeCheckFailure(s"$prettyName takes an event-time column, not a value of type ${other.sql}")
  }

  protected def takesKey: Boolean
}

object WatermarkExpression {

  /** What is known about the watermark. */
  sealed trait State

  /** The query is not a streaming query. */
  case object Batch extends State

  /** The query is a streaming query, and the watermark of its batch is not filled in yet. */
  case object Awaited extends State

  /** @param lateMicros rows at or before it are late (µs); @param isKnown whether there is a watermark yet */
  final case class Value(lateMicros: Long, isKnown: Boolean) extends State

  /** Between which times the rows of a batch are (ms): see [[TimeWindow]]. */
  final case class WindowValue(lowerMillis: Option[Long], upperMillis: Option[Long]) extends State

  object Value {
    def apply(watermark: Watermark): Value =
      Value(EventTimeUnits.micros(watermark.sparkMillis), watermark.millis.nonEmpty)
  }

  def in(plan: QueryPlan[_]): Seq[WatermarkExpression] =
    plan.expressions.flatMap(_.collect { case reading: WatermarkExpression => reading })

  def isIn(plan: QueryPlan[_]): Boolean = plan.expressions.exists(_.exists(_.isInstanceOf[WatermarkExpression]))

  /** @param columns the columns that have a watermark at that place */
  private[tidemark] def noWatermark(reading: WatermarkExpression, columns: Seq[NamedExpression]): TidemarkException =
    new TidemarkException(TidemarkError.NoWatermark(reading.sql, columns.map(_.name)))
}

/** `current_watermark([column or key])`: see [[WatermarkExpression]]. It is null before the first watermark and in
  * batch queries.
  */
case class CurrentWatermark(
    children: Seq[Expression],
    id: UUID,
    state: WatermarkExpression.State = WatermarkExpression.Batch)
    extends WatermarkExpression {
  override def of: Option[Expression] = children.headOption
  override def withState(state: WatermarkExpression.State): CurrentWatermark = copy(state = state)
  override protected def takesKey: Boolean = true

  override def prettyName: String = CurrentWatermark.name
  override def dataType: DataType = TimestampType
  override def nullable: Boolean = true

  private def known: Option[Long] = read.filter(_.isKnown).map(_.lateMicros)

  override def eval(input: InternalRow): Any = known.getOrElse(null)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    if (state == WatermarkExpression.Awaited)
      ev.copy(code"boolean ${ev.isNull} = ${evaluated(ctx)} == null;", value = JavaCode.defaultLiteral(dataType))
    else
      known match {
        case None => ev.copy(EmptyBlock, TrueLiteral, JavaCode.defaultLiteral(dataType))
        case Some(micros) =>
          val value = CodegenLong(ctx, "watermark", micros)
          ev.copy(EmptyBlock, FalseLiteral, JavaCode.global(value, dataType))
      }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): CurrentWatermark =
    copy(children = newChildren)
}

object CurrentWatermark {
  val name: String = "current_watermark"

  val description: SqlFunctions.Description = SqlFunctions.described(
    getClass,
    name,
    "([column or key]) - the watermark at this place in the query, by which rows are late in this batch; null before the " +
      "first watermark, and in batch queries") { arguments =>
    if (arguments.size > 1)
      throw new TidemarkException(TidemarkError.WrongArguments(name, "a column, a key, or nothing", arguments.size))
    CurrentWatermark(arguments, UUID.randomUUID())
  }
}

/** `is_late(column)`: whether the row is late by that column at this place; false for a null time and in batch queries.
  */
case class IsLate(child: Expression, id: UUID, state: WatermarkExpression.State = WatermarkExpression.Batch)
    extends UnaryExpression
    with WatermarkExpression {
  override def of: Option[Expression] = Some(child)
  override def withState(state: WatermarkExpression.State): IsLate = copy(state = state)
  override protected def takesKey: Boolean = false

  override def prettyName: String = IsLate.name
  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false

  private lazy val micros = EventTimeMarks.micros(child)

  override def eval(input: InternalRow): Any = read.exists { at =>
    val time = micros.eval(input)
    time != null && time.asInstanceOf[Long] <= at.lateMicros
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = state match {
    case WatermarkExpression.Batch | _: WatermarkExpression.WindowValue =>
      ev.copy(EmptyBlock, FalseLiteral, FalseLiteral)
    case WatermarkExpression.Awaited =>
      ev.copy(code"boolean ${ev.value} = (Boolean) ${evaluated(ctx)};", FalseLiteral)
    case at: WatermarkExpression.Value =>
      val late = CodegenLong(ctx, "lateMicros", at.lateMicros)
      val time = micros.genCode(ctx)
      ev.copy(
        code"""${time.code}
          |boolean ${ev.value} = !${time.isNull} && ${time.value} <= $late;""".stripMargin,
        FalseLiteral)
  }

  override protected def withNewChildInternal(newChild: Expression): IsLate = copy(child = newChild)
}

object IsLate {
  val name: String = "is_late"

  val description: SqlFunctions.Description = SqlFunctions.described(
    getClass,
    name,
    "(column) - whether the row is late by that event-time column at this place in the query; false in batch queries") {
    case Seq(column) => IsLate(column, UUID.randomUUID())
    case other => throw new TidemarkException(TidemarkError.WrongArguments(name, "one column", other.size))
  }
}
