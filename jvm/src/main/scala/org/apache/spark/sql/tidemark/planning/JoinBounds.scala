package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{ColumnId, Side}
import io.tidemark.core.plan.PlanShape.Bound

import org.apache.spark.sql.catalyst.analysis.StreamingJoinHelper
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.tidemark.columns.EventTimeMarks

/** How the state of each side of a join is bounded, read from its keys and its condition.
  *
  * The right input's watermark bounds the left state, and the left input's watermark the right state. A row can leave
  * once no future row of the other side can match it.
  */
private[tidemark] final class JoinBounds(join: StreamingSymmetricHashJoinExec) extends PredicateHelper {
  import JoinBounds._

  val left: Option[Attribute] = join.left.output.find(EventTimeMarks.isMarked)
  val right: Option[Attribute] = join.right.output.find(EventTimeMarks.isMarked)

  /** The position of the equal key that is event time on a side (on the left, if on both). */
  val key: Option[Int] = {
    def marked(keys: Seq[Expression]): Option[Int] = keys.zipWithIndex.collectFirst {
      case (named: NamedExpression, index) if EventTimeMarks.isMarked(named) => index
    }
    marked(join.leftKeys).orElse(marked(join.rightKeys))
  }

  def active(side: Side): Option[Attribute] = if (side == Side.Left) left else right

  def bound(side: Side): Option[Bound] = key match {
    case Some(index) => keyBound(index, side)
    case None => rangeBound(side)
  }

  /** Whether the bound of a side is on its active column. */
  def boundsActive(side: Side): Boolean = key match {
    case Some(index) => keyColumn(index, side).map(_.exprId) == active(side).map(_.exprId)
    case None => true
  }

  private def keyColumn(index: Int, side: Side): Option[NamedExpression] =
    (if (side == Side.Left) join.leftKeys else join.rightKeys) (index) match {
      case named: NamedExpression if EventTimeMarks.isMarked(named) => Some(named)
      case _ => None
    }

  // A side whose equal key has no watermark takes the other's: no other times can match.
  private def keyBound(index: Int, side: Side): Option[Bound] =
    Seq(side.other, side).flatMap(of => keyColumn(index, of).map(c => Bound(of, ColumnId(c.exprId.id), 0L))).headOption

  /** The part of the condition about the two active columns; a condition on other columns says nothing about these. */
  val range: Option[Expression] = {
    val times = AttributeSet(left ++ right)
    val conjuncts = join.condition.full.toSeq.flatMap(splitConjunctivePredicates)
    conjuncts.filter(conjunct => conjunct.references.nonEmpty && conjunct.references.subsetOf(times)).reduceOption(And)
  }

  private def rangeBound(side: Side): Option[Bound] =
    for {
      own <- active(side)
      that <- active(side.other)
      condition <- range
      at <- StreamingJoinHelper.getStateValueWatermark(
        AttributeSet(own),
        AttributeSet(that),
        Some(condition),
        Some(Probe))
    } yield Bound(side.other, ColumnId(that.exprId.id), at - Probe)
}

private[tidemark] object JoinBounds {

  // Spark solves the condition for a given watermark, and the solution is that watermark plus a constant.
  private val Probe = 1000000000000L
}
