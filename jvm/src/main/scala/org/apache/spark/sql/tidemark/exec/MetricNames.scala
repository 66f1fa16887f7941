package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.execution.CollectMetricsExec

/** A node for the progress whose values come from elsewhere. The plan shows the names of its metrics and no expressions:
  * these have no values, and `null AS why` reads like an answer.
  */
private[tidemark] trait MetricNames extends CollectMetricsExec {
  override protected def stringArgs: Iterator[Any] = Iterator(name, metricExpressions.map(_.name))
}
