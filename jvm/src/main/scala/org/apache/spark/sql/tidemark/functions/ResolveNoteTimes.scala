package org.apache.spark.sql.tidemark.functions

import java.util.UUID

import io.tidemark.{NotedTimeErrors, TidemarkException}

import org.apache.spark.sql.catalyst.analysis.UnresolvedHaving
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, NoteTime}

/** Replaces `tidemark_note_time` by the plain column, with a [[NoteTime]] above. A batch query has nothing to note. */
object ResolveNoteTimes extends Rule[LogicalPlan] {

  // Spark looks for the aggregation right below HAVING, and the note goes in between.
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.exists(_.isInstanceOf[UnresolvedHaving])) plan else resolved(plan)

  private def resolved(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case project: Project if isReady(project, project.projectList) =>
      noted(project.projectList, project.child)(list => project.copy(projectList = list))
    case aggregate: Aggregate if isReady(aggregate, aggregate.aggregateExpressions) =>
      // A group by the alias or the ordinal of the function groups by the function.
      val groups = aggregate.groupingExpressions.map(_.transform { case note: NoteTimeExpression => note.column })
      noted(aggregate.aggregateExpressions, aggregate.child) { list =>
        aggregate.copy(groupingExpressions = groups, aggregateExpressions = list)
      }
  }

  private def isReady(node: LogicalPlan, columns: Seq[NamedExpression]): Boolean =
    columns.exists(Noted.unapply(_).nonEmpty) && node.resolved

  private def noted(columns: Seq[NamedExpression], child: LogicalPlan)(
      plain: Seq[NamedExpression] => LogicalPlan): LogicalPlan = {
    val list = columns.map {
      case alias @ Noted(time) => Alias(time.column, alias.name)(alias.exprId, alias.qualifier)
      case other => other
    }
    val below = plain(list)
    if (!child.isStreaming) below
    else
      columns.zip(below.output).foldLeft(below) {
        case (node, (Noted(time), column)) =>
          if (!EventTimeMarks.isMarked(column))
            throw new TidemarkException(
              NotedTimeErrors.NoteTimeNotEventTime(
                column.name,
                child.output.filter(EventTimeMarks.isMarked).map(_.name)))
          val options = time.options.getOrElse(throw new TidemarkException(
            NotedTimeErrors.InvalidNoteTime(s"takes its options as a literal, not as '${time.json.sql}'")))
          NoteTime(UUID.randomUUID(), column, options, node)
        case (node, _) => node
      }
  }

  private val Noted = new WholeColumn[NoteTimeExpression]
}
