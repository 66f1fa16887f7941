package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{FullOuter, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{ConstraintHelper, Join, LogicalPlan}
import org.apache.spark.sql.tidemark.columns.TrackedColumns.Columns

/** Lets an outer join emit a row immediately if its event time is null: such a row has no match.
  *
  * The join evicts state by that time, so a row without it would stay forever and never be emitted. Stock Spark accepts
  * that for an input with one event-time column, and so does Tidemark. With several, such rows are common: an outer
  * join further up found no match for them.
  */
private[tidemark] object NullEventTimeCondition extends PredicateHelper with ConstraintHelper {

  /** What to add to the join's condition: it changes no match, and tells Spark which rows never have one. */
  def condition(join: Join, columns: Seq[Columns], active: Seq[Option[ExprId]]): Option[Expression] = {
    val preserved = join.joinType match {
      case LeftOuter => Seq(true, false)
      case RightOuter => Seq(false, true)
      case FullOuter => Seq(true, true)
      case _ => Seq(false, false)
    }
    val times = Seq(join.left, join.right).zip(columns).zip(active).zip(preserved).collect {
      case (((side, times), Some(id)), true) if isSeveral(side, times) => side.output.find(_.exprId == id)
    }
    times.flatten.filter(time => time.nullable && isNamed(join, time)).map(IsNotNull(_)).reduceOption(And)
  }

  private def isSeveral(side: LogicalPlan, columns: Columns): Boolean =
    side.output.map(_.exprId).distinct.count(columns.contains) > 1

  /** Whether the join's condition is never true for a null time. */
  private def isNamed(join: Join, time: Attribute): Boolean = {
    val conjuncts = ExpressionSet(join.condition.toSeq.flatMap(splitConjunctivePredicates))
    constructIsNotNullConstraints(conjuncts, Seq(time)).contains(IsNotNull(time))
  }
}
