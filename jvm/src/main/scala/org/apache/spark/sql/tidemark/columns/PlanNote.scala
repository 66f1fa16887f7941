package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import io.tidemark.{NotedTimeErrors, TidemarkException}

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.streaming.OutputMode

/** One column whose watermark a query notes.
  *
  * @param id that of its node in the plan
  * @param column its name, for messages
  */
private[tidemark] final case class PlanNote(id: UUID, column: String, options: NoteOptions)

private[tidemark] object PlanNote {

  def areIn(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[NoteTime])

  /** @throws TidemarkException if a query cannot note its time */
  def requireValid(plan: LogicalPlan, mode: OutputMode): Unit = of(plan).headOption.foreach { note =>
    if (mode == OutputMode.Complete()) throw new TidemarkException(NotedTimeErrors.NoteTimeCompleteMode(note.column))
    // A column may have Spark's mark although no watermark of the query has declared it.
    if (!plan.exists(_.isInstanceOf[EventTimeWatermark]))
      throw new TidemarkException(NotedTimeErrors.NoteTimeNotEventTime(note.column, Nil))
  }

  /** The notes of a query's analyzed plan.
    * @throws TidemarkException if an operator above a note may emit rows that the note does not speak of
    */
  def of(plan: LogicalPlan): Seq[PlanNote] = {
    val definitions = plan.collect { case definition: CTERelationDef => definition.id -> definition }.toMap

    def below(node: LogicalPlan): Option[NoteTime] = node match {
      case note: NoteTime => Some(note)
      case reference: CTERelationRef => definitions.get(reference.cteId).flatMap(d => below(d.child))
      case other => other.children.flatMap(below).headOption
    }

    def in(node: LogicalPlan): Seq[PlanNote] = node match {
      case note: NoteTime =>
        PlanNote(note.id, note.column.name, note.options) +: in(note.child)
      case WithCTE(inner, _) => in(inner)
      case reference: CTERelationRef => definitions.get(reference.cteId).toSeq.flatMap(d => in(d.child))
      case join: Join if join.children.count(_.isStreaming) == 1 => join.children.filter(_.isStreaming).flatMap(in)
      case operator if keepsTimes(operator) => operator.children.flatMap(in)
      case other =>
        below(other).foreach { note =>
          throw new TidemarkException(NotedTimeErrors.NoteTimeDropped(note.column.name, other.nodeName))
        }
        Nil
    }
    val notes = in(plan)
    requireApart(notes)(note => note.options.log -> note.options.writer)
    notes
  }

  /** Two notes of one writer in one log would fence each other off.
    * @param place the log and the writer of a note
    */
  def requireApart(notes: Seq[PlanNote])(place: PlanNote => Any): Unit =
    notes.groupBy(place).values.find(_.size > 1).foreach { same =>
      throw new TidemarkException(NotedTimeErrors.InvalidNoteTime(
        s"notes the columns ${same.map(n => s"'${n.column}'").mkString(" and ")} as one writer of one log"))
    }

  /** Whether a node only passes on, repeats or leaves out rows, without delay. */
  private def keepsTimes(node: LogicalPlan): Boolean = node match {
    case _: Project | _: Filter | _: SubqueryAlias | _: View | _: Generate | _: RepartitionOperation | _: Sort |
        _: Sample | _: CollectMetrics | _: ResolvedHint | _: CTERelationDef | _: SplitMarker | _: EventTimeWatermark =>
      true
    case _ => false
  }
}
