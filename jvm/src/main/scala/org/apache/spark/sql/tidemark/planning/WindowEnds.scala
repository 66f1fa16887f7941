package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{ExpandExec, SparkPlan, UnionExec}
import org.apache.spark.sql.tidemark.exec.eviction.WindowGrid

/** Finds the `window(...)` that makes a column of a plan. */
private[tidemark] object WindowEnds {

  /** When the windows of a column end; `None` if the column is not a window, or if not all of its expressions are in the plan.
    *
    * @param plan has the column in its output
    */
  def of(plan: SparkPlan, column: ExprId): Option[WindowGrid] = plan match {
    case union: UnionExec if union.output.exists(_.exprId == column) =>
      val at = union.output.indexWhere(_.exprId == column)
      together(union.children.map(input => of(input, input.output(at).exprId)))
    case expand: ExpandExec if expand.output.exists(_.exprId == column) =>
      val at = expand.output.indexWhere(_.exprId == column)
      // An end for each sliding window that a time is in.
      grid(expand, expand.projections.map(_(at)).distinct)
    case node =>
      node.expressions.flatMap(_.collect {
        case alias: Alias if alias.exprId == column => alias.child
      }).distinct match {
        case Seq() => below(node, column)
        case expressions => grid(node, expressions)
      }
  }

  private def grid(node: SparkPlan, expressions: Seq[Expression]): Option[WindowGrid] = expressions match {
    case Seq(renamed: Attribute) => below(node, renamed.exprId)
    case windows => WindowGrid.of(windows)
  }

  private def below(node: SparkPlan, column: ExprId): Option[WindowGrid] =
    node.children.find(_.output.exists(_.exprId == column)).flatMap(of(_, column))

  private def together(inputs: Seq[Option[WindowGrid]]): Option[WindowGrid] =
    if (inputs.forall(_.nonEmpty)) inputs.flatten.reduceOption(_ ++ _) else None
}
