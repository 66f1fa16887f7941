package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project, Union}
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.types.{LongType, Metadata}

/** Puts back marks that Spark loses when it moves a projection below a union.
  *
  * Spark computes the columns again on every input, but keeps their metadata on the first input only. A window, or the
  * time of one, then has no mark on the other inputs, and the union could not tell whose watermark it has.
  */
private[tidemark] object RestoreUnionMarks {

  def restore(plan: LogicalPlan): LogicalPlan = plan.transformDown { case union: Union =>
    val marked = union.children.head.output.zipWithIndex.filter(column => EventTimeMarks.isMarked(column._1))
    val others = union.children.tail.map { child =>
      marked.foldLeft(child) { case (input, (column, position)) => mark(input, position, column.metadata) }
    }
    if (others.corresponds(union.children.tail)(_ eq _)) union else union.copy(children = union.children.head +: others)
  }

  private def mark(plan: LogicalPlan, position: Int, metadata: Metadata): LogicalPlan = {
    def marked(columns: Seq[NamedExpression]): Option[Seq[NamedExpression]] = columns(position) match {
      case lost @ Alias(window, name) if !EventTimeMarks.isMarked(lost) && isWindow(window) =>
        Some(columns.updated(position, Alias(window, name)(lost.exprId, lost.qualifier, Some(metadata))))
      case _ => None
    }
    plan match {
      case project: Project => marked(project.projectList).fold(project)(list => project.copy(projectList = list))
      case aggregate: Aggregate =>
        marked(aggregate.aggregateExpressions).fold(aggregate)(list => aggregate.copy(aggregateExpressions = list))
      case union: Union =>
        val children = union.children.map(mark(_, position, metadata))
        if (children.corresponds(union.children)(_ eq _)) union else union.copy(children = children)
      case _ => plan
    }
  }

  /** The expressions that `window(...)`, `session_window(...)` and `window_time(...)` are rewritten to. */
  private def isWindow(expression: Expression): Boolean = expression match {
    case struct: CreateNamedStruct => struct.exists(_.isInstanceOf[PreciseTimestampConversion])
    case PreciseTimestampConversion(_: Subtract, LongType, _) => true
    case _ => false
  }
}
