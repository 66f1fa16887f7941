package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.plan.PlanShape

import org.apache.spark.sql.catalyst.expressions.{ExprId, NamedExpression}

/** The shape of a part of a plan, and what is known of its columns.
  *
  * @param columns the event-time columns in the node's output
  * @param begun whether an origin is below
  * @param marked the columns of which only the mark is known
  */
private[planning] final case class BuiltShape(
    shape: PlanShape,
    columns: Set[ExprId],
    begun: Boolean,
    marked: Set[ExprId] = Set.empty) {
  def has(attribute: NamedExpression): Boolean = columns.contains(attribute.exprId)

  /** Whether the column comes from below an origin, so that it has a watermark. */
  def hasWatermark(attribute: NamedExpression): Boolean = begun && has(attribute)
}
