package org.apache.spark.sql.tidemark.columns

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, EventTimeWatermark, LogicalPlan, Union}

/** Checks where the inputs of unions have their event time, in the plan as the user wrote it.
  *
  * The plan of a batch does not show it: Spark has moved projections below unions there, and removed unused columns. It has
  * also removed an input without event time if that is empty in the batch.
  */
private[tidemark] object UnionChecks {

  /** @throws TidemarkException if an input has event time, but at another position than the first input */
  def requireSamePositions(plan: LogicalPlan): Unit =
    for {
      union <- unions(plan)
      (column, position) <- union.children.head.output.zipWithIndex if isEventTime(column, union.children.head)
      (child, input) <- union.children.zipWithIndex
    } {
      val marked = child.output.filter(isEventTime(_, child))
      if (marked.nonEmpty && !EventTimeMarks.isMarked(child.output(position)))
        throw new TidemarkException(
          TidemarkError.UnionWatermarkPosition(position, column.name, input, marked.map(_.name)))
    }

  /** A mark from a table's schema, such as that of a table which a stream has written, promises nothing. */
  private def isEventTime(column: Attribute, input: LogicalPlan): Boolean =
    EventTimeMarks.isMarked(column) && hasWatermark(input)

  private def hasWatermark(input: LogicalPlan): Boolean = input.exists {
    case _: EventTimeWatermark => true
    // The definition of a common table expression is elsewhere in the plan, and may contain a watermark.
    case _: CTERelationRef => true
    case _ => false
  }

  /** Inputs without event time beside inputs with it: as in Spark the union does not wait for them, and a hint says so.
    */
  def leftOut(plan: LogicalPlan): Seq[TidemarkError] =
    unions(plan).flatMap { union =>
      val timed = union.children.map(_.exists(_.isInstanceOf[EventTimeWatermark]))
      val without = if (timed.contains(true)) timed.zipWithIndex.collect { case (false, input) => input } else Nil
      without.map(TidemarkError.UnionInputLeftOut(_, union.output.map(_.name)))
    }.distinct

  private def unions(plan: LogicalPlan): Seq[Union] = plan.collect { case union: Union => union }
}
