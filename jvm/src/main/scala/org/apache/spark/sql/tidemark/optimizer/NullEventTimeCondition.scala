package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{FullOuter, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{ConstraintHelper, Join, LogicalPlan}
import org.apache.spark.sql.tidemark.columns.TrackedColumns.Columns

/** Rows without the time that a join goes by: no match, so an outer join gives them out at once.
  *
  * State is evicted by that time, and a row without it would stay for ever and never come out. Spark leaves it at that
  * where an input has one event-time column, and so do we. With several, such rows are an everyday thing: they are what
  * an outer join further up did not find a match for.
  */
private[tidemark] object NullEventTimeCondition extends PredicateHelper with ConstraintHelper {

  /** What is to be added to the condition: it changes no match, but tells Spark which rows never have one. */
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

  /** Whether the join's condition is never true where the time is null. */
  private def isNamed(join: Join, time: Attribute): Boolean = {
    val conjuncts = ExpressionSet(join.condition.toSeq.flatMap(splitConjunctivePredicates))
    constructIsNotNullConstraints(conjuncts, Seq(time)).contains(IsNotNull(time))
  }
}
