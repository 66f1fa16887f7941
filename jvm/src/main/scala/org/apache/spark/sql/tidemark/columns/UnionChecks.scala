package org.apache.spark.sql.tidemark.columns

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, EventTimeWatermark, LogicalPlan, Union}

/** Where the inputs of unions have their event time, in the plan as the user wrote it.
  *
  * The plan of a batch does not tell: projections have been moved below unions there, columns that nobody uses are gone,
  * and so is an input without event time in a batch in which it is empty.
  */
private[tidemark] object UnionChecks {

  /** @throws TidemarkException when an input has event time, but not where the first one has it */
  def requireSamePositions(plan: LogicalPlan): Unit =
    for {
      union <- unions(plan)
      (column, position) <- union.children.head.output.zipWithIndex if isEventTime(column, union.children.head)
      (child, input) <- union.children.zipWithIndex
    } {
      val marked = child.output.filter(isEventTime(_, child))
      if (marked.nonEmpty && !EventTimeColumns.isMarked(child.output(position)))
        throw new TidemarkException(
          TidemarkError.unionWatermarkPosition(position, column.name, input, marked.map(_.name)))
    }

  /** A mark that a table brings along, as one that a stream has written, promises nothing. */
  private def isEventTime(column: Attribute, input: LogicalPlan): Boolean =
    EventTimeColumns.isMarked(column) && hasWatermark(input)

  private def hasWatermark(input: LogicalPlan): Boolean = input.exists {
    case _: EventTimeWatermark => true
    // What it refers to is a part of the plan elsewhere, and may have one.
    case _: CTERelationRef => true
    case _ => false
  }

  /** Inputs that have no event time, while others have: they are left out, as in Spark, and the user is told. */
  def leftOut(plan: LogicalPlan): Seq[TidemarkError] =
    unions(plan).flatMap { union =>
      val timed = union.children.map(_.exists(_.isInstanceOf[EventTimeWatermark]))
      val without = if (timed.contains(true)) timed.zipWithIndex.collect { case (false, input) => input } else Nil
      without.map(TidemarkError.unionInputLeftOut(_, union.output.map(_.name)))
    }.distinct

  private def unions(plan: LogicalPlan): Seq[Union] = plan.collect { case union: Union => union }
}
