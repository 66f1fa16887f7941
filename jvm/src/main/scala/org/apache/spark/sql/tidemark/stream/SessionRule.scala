package org.apache.spark.sql.tidemark.stream

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** A rule for the plans of one query, which has its own session.
  *
  * A query that is started in `foreachBatch` begins with a copy of that session and of its rules.
  */
private[tidemark] final class SessionRule(session: SparkSession, rule: Rule[LogicalPlan]) extends Rule[LogicalPlan] {
  override val ruleName: String = rule.ruleName

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (SparkSession.getActiveSession.exists(_ eq session)) rule(plan) else plan
}
