package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join}
import org.apache.spark.sql.tidemark.columns.TrackedColumns.Columns
import org.apache.spark.sql.types.StructType

/** Which event-time column a stateful operator uses: the one that it names, else the one declared last. */
private[tidemark] object ActiveColumns extends PredicateHelper {

  def declaredLast(columns: Columns): Option[ExprId] =
    columns.maxByOption(_._2.declared).map(_._1)

  /** The first key that is event time. A key with nothing but a mark is used only if there is no other. */
  def ofKeys(keys: Seq[Attribute], columns: Columns): Option[ExprId] = {
    val times = keys.map(_.exprId).filter(columns.contains)
    times.find(!columns(_).marked).orElse(times.headOption).orElse(declaredLast(columns))
  }

  /** The window among the grouping keys, else the first time. Without either, no group is ever late. The time of a static
    * table decides what is late only if no other time is among the keys.
    */
  def ofAggregate(aggregate: Aggregate, columns: Columns): Option[ExprId] = {
    val times = aggregate.groupingExpressions.collect {
      case named: NamedExpression if columns.contains(named.toAttribute.exprId) => named.toAttribute
    }
    val (static, live) = times.partition(a => columns(a.exprId).isStatic)
    val (marked, known) = live.partition(a => columns(a.exprId).marked)
    windowOrFirst(known ++ marked).orElse(windowOrFirst(static)).map(_.exprId)
  }

  private def windowOrFirst(times: Seq[Attribute]): Option[Attribute] =
    times.find(_.dataType.isInstanceOf[StructType]).orElse(times.headOption)

  /** The two columns of the first equality of times, else of the first time range. One side may have none. */
  def ofJoin(join: Join, left: Columns, right: Columns): (Option[ExprId], Option[ExprId]) = {
    val conjuncts = join.condition.toSeq.flatMap(splitConjunctivePredicates)
    val (fromLeft, fromRight) = equality(conjuncts, left, right)
      .orElse(range(conjuncts, left, right))
      .getOrElse((None, None))
    (fromLeft.orElse(declaredLast(left)), fromRight.orElse(declaredLast(right)))
  }

  private type Pair = (Option[ExprId], Option[ExprId])

  private def equality(conjuncts: Seq[Expression], left: Columns, right: Columns): Option[Pair] = {
    val pairs = conjuncts.flatMap {
      case EqualTo(a: Attribute, b: Attribute) => pair(a, b, left, right)
      case EqualNullSafe(a: Attribute, b: Attribute) => pair(a, b, left, right)
      case _ => None
    }
    pairs.find(p => p._1.nonEmpty && p._2.nonEmpty).orElse(pairs.headOption)
  }

  private def pair(a: Attribute, b: Attribute, left: Columns, right: Columns): Option[Pair] = {
    val ids = Seq(a.exprId, b.exprId)
    Some((ids.find(left.contains), ids.find(right.contains))).filter(p => p._1.nonEmpty || p._2.nonEmpty)
  }

  private def range(conjuncts: Seq[Expression], left: Columns, right: Columns): Option[Pair] =
    conjuncts.collectFirst(Function.unlift { conjunct =>
      val isRange = conjunct match {
        case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual | _: Between => true
        case _ => false
      }
      val ids = conjunct.references.map(_.exprId).toSeq
      (ids.filter(left.contains), ids.filter(right.contains)) match {
        case (Seq(l), Seq(r)) if isRange && ids.size == 2 => Some((Some(l), Some(r)): Pair)
        case _ => None
      }
    })
}
