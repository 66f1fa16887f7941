package org.apache.spark.sql.tidemark

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/** Plans [[OperatorInput]]. The watermark itself is not known yet; [[ApplyWatermarks]] writes it. */
object OperatorInputStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case OperatorInput(active, carried, filters, child) =>
      OperatorInputExec(active, carried, filters, OperatorInputExec.Unset, planLater(child)) :: Nil
    case _ => Nil
  }
}
