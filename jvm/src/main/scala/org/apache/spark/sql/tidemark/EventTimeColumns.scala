package org.apache.spark.sql.tidemark

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.types.{MetadataBuilder, StructType}

/** What makes a column event time: Spark's mark in its metadata, and what it is computed from.
  *
  * Marks alone cannot be trusted (an operator's input carries one mark only, see [[OperatorInput]]), and neither can
  * names or expression ids (`window(...)` makes a new column): a column is event time if it ''is'' one that was, or if it
  * bears the mark and is computed from one.
  */
private[tidemark] object EventTimeColumns {

  def isMarked(attribute: NamedExpression): Boolean = attribute.metadata.contains(EventTimeWatermark.delayKey)

  /** The attribute with Spark's mark (`delayMillis` is what `withWatermark` was given). */
  def mark(attribute: Attribute, delayMillis: Long): Attribute =
    attribute.withMetadata(
      new MetadataBuilder().withMetadata(attribute.metadata).putLong(EventTimeWatermark.delayKey, delayMillis).build())

  def unmark(attribute: Attribute): Attribute =
    if (!isMarked(attribute)) attribute
    else
      attribute.withMetadata(
        new MetadataBuilder().withMetadata(attribute.metadata).remove(EventTimeWatermark.delayKey).build())

  /** For each event-time column among `outputs`: the input column that it comes from.
    *
    * @param computed columns that the user has computed: one that has become another name for a time is none
    */
  def derive(
      outputs: Seq[NamedExpression],
      isEventTime: ExprId => Boolean,
      computed: Set[ExprId]): Seq[(ExprId, ExprId)] =
    outputs.flatMap(output => source(output, isEventTime, computed).map(output.exprId -> _))

  private def source(
      output: NamedExpression,
      isEventTime: ExprId => Boolean,
      computed: Set[ExprId]): Option[ExprId] = output match {
    case attribute: Attribute => Some(attribute.exprId).filter(isEventTime)
    case alias @ Alias(attribute: Attribute, _) if alias.explicitMetadata.isEmpty =>
      Some(attribute.exprId).filter(id => isEventTime(id) && !computed(alias.exprId))
    case other if isMarked(other) => other.references.iterator.map(_.exprId).find(isEventTime)
    case _ => None
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

  /** The time of a column, in microseconds: the end of a window, the value of a timestamp. */
  def micros(column: Expression): Expression =
    if (column.dataType.isInstanceOf[StructType]) GetStructField(column, 1) else column
}
