package org.apache.spark.sql.tidemark.functions

import scala.reflect.ClassTag

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}

/** A column that is a call of one function and nothing else. */
private[functions] final class WholeColumn[E <: Expression: ClassTag] {

  /** Spark Connect wraps the call in two aliases. */
  def unapply(column: NamedExpression): Option[E] = column match {
    case Alias(call: E, _) => Some(call)
    case Alias(inner: Alias, _) => unapply(inner)
    case _ => None
  }
}
