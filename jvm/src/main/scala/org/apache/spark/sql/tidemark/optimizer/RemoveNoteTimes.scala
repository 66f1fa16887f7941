package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.NoteTime

/** Removes the nodes that say which watermark a query notes. They do nothing to its rows. */
object RemoveNoteTimes extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp { case note: NoteTime => note.child }
}
