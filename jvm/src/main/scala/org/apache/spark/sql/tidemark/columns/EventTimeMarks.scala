package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, MetadataBuilder, StructField, StructType}

/** What makes a column event time: Spark's mark in its metadata, and the column it is computed from.
  *
  * Marks alone are not enough, because an operator's input has only one mark (see [[OperatorInput]]). Names and
  * expression ids are not enough either, because `window(...)` makes a new column. So a column is event time if it
  * ''is'' an event-time column, or if it has the mark and is computed from one.
  */
private[tidemark] object EventTimeMarks {

  def isMarked(attribute: NamedExpression): Boolean = attribute.metadata.contains(EventTimeWatermark.delayKey)

  /** The delay given to `withWatermark` (ms), as the mark has it. */
  def delayMillis(marked: NamedExpression): Long = marked.metadata.getLong(EventTimeWatermark.delayKey)

  /** Whether a type can hold event time inside its values: in a field of a struct, or in elements of an array or a map.
    */
  def isInside(dataType: DataType): Boolean = dataType.existsRecursively {
    case struct: StructType => struct.exists(isMarked(_))
    case _ => false
  }

  /** The attribute with Spark's mark (`delayMillis` is what `withWatermark` was given). */
  def mark(attribute: Attribute, delayMillis: Long): Attribute =
    attribute.withMetadata(
      new MetadataBuilder().withMetadata(attribute.metadata).putLong(EventTimeWatermark.delayKey, delayMillis).build())

  def unmark(attribute: Attribute): Attribute =
    if (!isMarked(attribute)) attribute
    else
      attribute.withMetadata(
        new MetadataBuilder().withMetadata(attribute.metadata).remove(EventTimeWatermark.delayKey).build())

  /** For each event-time column among `outputs`, the input column that it comes from.
    *
    * @param computed columns that the user computed; such a column is not event time, even if it now equals one
    */
  def derive(
      outputs: Seq[NamedExpression],
      isEventTime: ExprId => Boolean,
      computed: Set[ExprId]): Seq[(ExprId, ExprId)] =
    outputs.flatMap(output => sources(output, isEventTime, computed).map(output.exprId -> _))

  private def sources(
      output: NamedExpression,
      isEventTime: ExprId => Boolean,
      computed: Set[ExprId]): Iterable[ExprId] = output match {
    case attribute: Attribute => Some(attribute.exprId).filter(isEventTime)
    case alias @ Alias(attribute: Attribute, _) if alias.explicitMetadata.isEmpty =>
      Some(attribute.exprId).filter(id => isEventTime(id) && !computed(alias.exprId))
    case other => sources(other, other.references, isEventTime)
  }

  /** A time is computed from one time, but a value may hold several. */
  private def sources(
      output: NamedExpression,
      references: AttributeSet,
      isEventTime: ExprId => Boolean): Iterable[ExprId] = {
    val times = references.toSeq.map(_.exprId).filter(isEventTime)
    if (isMarked(output)) times.headOption else if (isInside(output.dataType)) times else None
  }

  /** Columns of an `Expand`, which computes each output in several ways (a sliding window, a grouping set). */
  def deriveExpanded(
      outputs: Seq[Attribute],
      projections: Seq[Seq[Expression]],
      isEventTime: ExprId => Boolean): Seq[(ExprId, ExprId)] =
    outputs.zipWithIndex.flatMap { case (output, position) =>
      val ways = projections.map(_(position))
      val same = ways.forall {
        case attribute: Attribute => isEventTime(attribute.exprId)
        case Literal(null, _) => true
        case _ => false
      }
      if (same || isMarked(output))
        ways.iterator.flatMap(_.references.iterator.map(_.exprId)).find(isEventTime).map(output.exprId -> _)
      else None
    }

  /** The outputs of an aggregation that hold event time (`max(struct(t))`), by the buffers that they are computed from.
    */
  def deriveAggregated(
      functions: Seq[AggregateExpression],
      results: Seq[NamedExpression],
      isEventTime: ExprId => Boolean): Seq[(ExprId, ExprId)] =
    for {
      function <- functions
      buffer <- function.aggregateFunction.inputAggBufferAttributes.map(_.exprId) if isEventTime(buffer)
      result <- results if result.references.contains(function.resultAttribute)
      if isMarked(result) || isInside(result.dataType)
    } yield result.exprId -> buffer

  /** The buffer of each aggregate function that keeps event time inside it, and that event time. */
  def buffered(functions: Seq[AggregateExpression], isEventTime: ExprId => Boolean): Seq[(Attribute, ExprId)] =
    for {
      function <- functions.map(_.aggregateFunction) if isInside(function.dataType)
      buffer <- function.inputAggBufferAttributes.take(1)
      time <- function.references.toSeq.map(_.exprId) if isEventTime(time)
    } yield buffer -> time

  /** The columns of a generator (`explode`, `inline`) that are event time or hold it, and the input they come from. */
  def deriveGenerated(
      generator: Generator,
      outputs: Seq[Attribute],
      isEventTime: ExprId => Boolean): Seq[(ExprId, ExprId)] =
    for {
      output <- outputs
      from <- sources(output, generator.references, isEventTime)
    } yield output.exprId -> from

  /** Whether the time of a column can be read: not if it is inside the elements of an array or a map. */
  def hasTime(column: Attribute): Boolean = {
    val times = paths(column)
    !isInside(column.dataType) || times.size == marksIn(column.dataType) && times.map(_.dataType).distinct.size == 1
  }

  /** The time of a column in µs: the end of a window, the value of a timestamp, or the earliest time inside a struct.
    */
  def micros(column: Expression): Expression = (column.dataType, paths(column)) match {
    case (_: StructType, Nil) => GetStructField(column, 1)
    case (_: StructType, Seq(only)) => only
    case (_: StructType, several) => Least(several)
    case _ => column
  }

  /** The times inside a struct, and inside those of its fields that are structs. */
  private def paths(column: Expression): Seq[Expression] = column.dataType match {
    case struct: StructType =>
      struct.fields.toSeq.zipWithIndex.flatMap { case (field, index) =>
        val value = GetStructField(column, index)
        if (isMarked(field)) Seq(micros(value)) else paths(value)
      }
    case _ => Nil
  }

  private def marksIn(dataType: DataType): Int = dataType match {
    case struct: StructType => struct.fields.map(field => if (isMarked(field)) 1 else marksIn(field.dataType)).sum
    case ArrayType(element, _) => marksIn(element)
    case MapType(key, value, _) => marksIn(key) + marksIn(value)
    case _ => 0
  }

  private def isMarked(field: StructField): Boolean = field.metadata.contains(EventTimeWatermark.delayKey)
}
