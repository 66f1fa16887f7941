package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.tidemark.columns.OperatorInput

/** Plans [[OperatorInput]]. The watermark is not known yet; [[ApplyWatermarks]] writes it later. */
object OperatorInputStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case OperatorInput(active, carried, filters, child) =>
      OperatorInputExec(active, carried, filters, OperatorInputExec.Unset, planLater(child)) :: Nil
    case _ => Nil
  }
}
