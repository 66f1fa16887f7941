package org.apache.spark.sql.tidemark.functions

import io.tidemark.{NotedTimeErrors, OrderErrors, TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Refuses `tidemark_event_time` and `tidemark_note_time` where they are not a whole column, and `tidemark_in_order` where
  * it is not a condition of a filter.
  */
object CheckEventTimePlacement extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach { node =>
    if (node.expressions.exists(_.exists(_.isInstanceOf[EventTimeExpression])))
      throw new TidemarkException(TidemarkError.InvalidEventTime(s"is part of another expression in ${node.nodeName}"))
    if (node.expressions.exists(_.exists(_.isInstanceOf[NoteTimeExpression])))
      throw new TidemarkException(NotedTimeErrors.InvalidNoteTime(s"is part of another expression in ${node.nodeName}"))
    if (node.expressions.exists(_.exists(_.isInstanceOf[InOrderExpression])))
      throw new TidemarkException(OrderErrors.MisplacedOrder(node.nodeName))
  }
}
