package org.apache.spark.sql.tidemark.columns

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.streaming.OutputMode

/** One column whose watermark a query notes.
  *
  * @param column its name, for messages
  * @param ids the column and the columns that it is another name of, from the top of the plan downwards: the optimizer may
  *   leave only one of them
  */
private[tidemark] final case class PlanNote(column: String, ids: Seq[ExprId], options: NoteOptions)

private[tidemark] object PlanNotes {

  /** @throws TidemarkException if a query cannot note its time */
  def requireValid(plan: LogicalPlan, mode: OutputMode): Unit = of(plan).headOption.foreach { note =>
    if (mode == OutputMode.Complete()) throw new TidemarkException(TidemarkError.NoteTimeCompleteMode(note.column))
    // A column may bear Spark's mark although no watermark of the query has declared it.
    if (!plan.exists(_.isInstanceOf[EventTimeWatermark]))
      throw new TidemarkException(TidemarkError.NoteTimeNotEventTime(note.column, Nil))
  }

  /** The notes of a query's analyzed plan.
    * @throws TidemarkException if an operator above a note may emit rows that the note does not speak of
    */
  def of(plan: LogicalPlan): Seq[PlanNote] = {
    val definitions = plan.collect { case definition: CTERelationDef => definition.id -> definition }.toMap

    def in(node: LogicalPlan): Seq[PlanNote] = node match {
      case note: NoteTime => of(note, definitions) +: in(note.child)
      case WithCTE(inner, _) => in(inner)
      case reference: CTERelationRef => definitions.get(reference.cteId).toSeq.flatMap(d => in(d.child))
      case join: Join if join.children.count(_.isStreaming) == 1 => join.children.filter(_.isStreaming).flatMap(in)
      case one if keepsTimes(one) => one.children.flatMap(in)
      case other =>
        other.collectFirst { case note: NoteTime => note }.foreach { note =>
          throw new TidemarkException(TidemarkError.NoteTimeDropped(note.column.name, other.nodeName))
        }
        Nil
    }
    val notes = in(plan)
    notes.groupBy(note => (note.options.log, note.options.writer)).values.find(_.size > 1).foreach { same =>
      throw new TidemarkException(TidemarkError.InvalidNoteTime(
        s"is there for the columns ${same.map(n => s"'${n.column}'").mkString(" and ")}, with one log and one writer"))
    }
    notes
  }

  private def of(note: NoteTime, definitions: Map[Long, CTERelationDef]): PlanNote =
    PlanNote(note.column.name, names(note.column.exprId, note.child, definitions), NoteOptions.parse(note.options))

  private def names(column: ExprId, node: LogicalPlan, definitions: Map[Long, CTERelationDef]): Seq[ExprId] = {
    def through(list: Seq[NamedExpression]) = list.collectFirst {
      case Alias(from: Attribute, _) if list.exists(_.exprId == column) && isNamed(list, column, from) => from.exprId
    }.getOrElse(column)
    column +:
      (node match {
        case project: Project => names(through(project.projectList), project.child, definitions)
        // What an aggregation passes on keeps its id below it.
        case aggregate: Aggregate => Seq(through(aggregate.aggregateExpressions))
        case reference: CTERelationRef =>
          val at = reference.output.indexWhere(_.exprId == column)
          definitions.get(reference.cteId).filter(_ => at >= 0).toSeq.flatMap { definition =>
            names(definition.child.output(at).exprId, definition.child, definitions)
          }
        case one if keepsTimes(one) && one.children.size == 1 => names(column, one.children.head, definitions)
        case _ => Nil
      })
  }.distinct

  private def isNamed(list: Seq[NamedExpression], column: ExprId, from: Attribute): Boolean = list.exists {
    case alias @ Alias(of: Attribute, _) => alias.exprId == column && of.exprId == from.exprId
    case _ => false
  }

  /** Whether a node only passes on, repeats or leaves out rows, at once. */
  private def keepsTimes(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: SubqueryAlias | _: View | _: Generate | _: RepartitionOperation | _: Sort |
        _: Sample | _: CollectMetrics | _: ResolvedHint | _: CTERelationDef | _: SplitBy | _: EventTimeWatermark => true
    case _ => false
  }
}
