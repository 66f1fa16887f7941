package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.tidemark.columns.SplitMarker

/** Plans [[SplitMarker]]. [[ApplyWatermarks]] writes the limit on event times later. */
object SplitByStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case SplitMarker(id, column, time, keys, _, child) =>
      SplitClocksExec(id, column, time, keys, limits = None, planLater(child)) :: Nil
    case _ => Nil
  }
}
