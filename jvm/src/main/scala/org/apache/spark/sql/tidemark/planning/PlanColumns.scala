package org.apache.spark.sql.tidemark.planning

import scala.collection.mutable

import io.tidemark.core.ColumnId

import org.apache.spark.sql.catalyst.expressions.{ExprId, NamedExpression}

/** The columns of a plan, by Spark's expression ids. */
private[planning] final class PlanColumns {
  private val known = mutable.HashMap.empty[ColumnId, String]

  /** The name of each column that was asked for with its name. */
  def names: Map[ColumnId, String] = known.toMap

  def name(attribute: NamedExpression): ColumnId = {
    val column = id(attribute.exprId)
    known.getOrElseUpdate(column, attribute.name)
    column
  }

  def id(expression: ExprId): ColumnId = ColumnId(expression.id)
}
