package org.apache.spark.sql.tidemark.exec.eviction

import io.tidemark.core.Side

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.metric.SQLMetrics
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  StatefulOperatorCustomMetric,
  StatefulOperatorCustomSumMetric,
  StateStoreWriter
}

/** An operator that leaves state unscanned in some batches, and counts that in a metric of its own. */
private[tidemark] trait SkipsScans extends StateStoreWriter {

  /** The sides whose state this batch does not scan for what is due. An operator with one input has a left side only. */
  def unscanned: Set[Side]

  override def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    StatefulOperatorCustomSumMetric(SkipsScans.Metric, "number of state scans skipped, as little was due") +:
      super.customStatefulOperatorMetrics

  abstract override protected def doExecute(): RDD[InternalRow] = {
    if (unscanned.nonEmpty) {
      val skipped = longMetric(SkipsScans.Metric)
      skipped.set(unscanned.size.toLong)
      val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
      SQLMetrics.postDriverMetricUpdates(sparkContext, execution, Seq(skipped))
    }
    super.doExecute()
  }
}

private[tidemark] object SkipsScans {

  /** The metric of the operator, in Spark's progress too: how many scans of its state a batch has left out. */
  val Metric = "skippedStateScans"
}
