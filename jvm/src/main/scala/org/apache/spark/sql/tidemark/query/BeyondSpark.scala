package org.apache.spark.sql.tidemark.query

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.tidemark.columns.{InOrder, OriginsOfPlan, PlanNote}

private[tidemark] object BeyondSpark {

  /** Whether a query uses something of Tidemark, so that more may be due than Spark knows. */
  def isUsed(origins: OriginsOfPlan, plan: LogicalPlan): Boolean =
    origins.all.exists(origin => origin.needsTidemark.nonEmpty || origin.rules.idleAfterMillis.nonEmpty) ||
      PlanNote.areIn(plan) ||
      plan.exists(_.isInstanceOf[InOrder])
}
