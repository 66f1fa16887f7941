package org.apache.spark.sql.tidemark.ui

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.tidemark.query.RegisterTakeoverListener
import org.apache.spark.sql.tidemark.report.Report

/** The check rule that lets Tidemark see each query that a session starts, keep the last report of ended ones, and show them
  * in Spark's web UI.
  */
object ListenForQueries {
  def apply(session: SparkSession): LogicalPlan => Unit =
    new RegisterTakeoverListener(session, Report.json, new UiListener(session, () => System.currentTimeMillis()))
}
