package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project, Union}
import org.apache.spark.sql.tidemark.columns.EventTimeColumns
import org.apache.spark.sql.types.{LongType, Metadata}

/** Puts back marks that Spark loses when it moves a projection below a union.
  *
  * It computes the columns anew on every input, and only on the first with their metadata: a window or the time of one is
  * marked there, and nothing but a column on the others. A union would then not know whose watermark it is.
  */
private[tidemark] object RestoreUnionMarks {

  def restore(plan: LogicalPlan): LogicalPlan = plan.transformDown { case union: Union =>
    val marked = union.children.head.output.zipWithIndex.filter(column => EventTimeColumns.isMarked(column._1))
    val others = union.children.tail.map { child =>
      marked.foldLeft(child) { case (input, (column, position)) => mark(input, position, column.metadata) }
    }
    if (others.corresponds(union.children.tail)(_ eq _)) union else union.copy(children = union.children.head +: others)
  }

  private def mark(plan: LogicalPlan, position: Int, metadata: Metadata): LogicalPlan = {
    def marked(columns: Seq[NamedExpression]): Option[Seq[NamedExpression]] = columns(position) match {
      case lost @ Alias(window, name) if !EventTimeColumns.isMarked(lost) && isWindow(window) =>
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

  /** What `window(...)` and `session_window(...)`, or `window_time(...)`, have become. */
  private def isWindow(expression: Expression): Boolean = expression match {
    case struct: CreateNamedStruct => struct.exists(_.isInstanceOf[PreciseTimestampConversion])
    case PreciseTimestampConversion(_: Subtract, LongType, _) => true
    case _ => false
  }
}
