package org.apache.spark.sql.tidemark.report

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.tidemark.query.RegisterTakeoverListener

/** The check rule that lets Tidemark see each query that a session starts, and keep the last report of ended ones. */
object ListenForQueries {
  def apply(session: SparkSession): LogicalPlan => Unit = new RegisterTakeoverListener(session, Report.json)
}
