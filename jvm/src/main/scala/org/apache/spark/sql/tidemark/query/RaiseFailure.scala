package org.apache.spark.sql.tidemark.query

import io.tidemark.TidemarkException

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** Fails a query that could not be taken over, whatever its plan. */
private[tidemark] final class RaiseFailure(error: TidemarkException) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = throw error
}
