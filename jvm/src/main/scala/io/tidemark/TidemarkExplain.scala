package io.tidemark

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.tidemark.report.PlanWatermarks

/** Adds to what Spark's `explain` prints of a running query's last batch: why nothing comes out, and what each operator's
  * watermarks are.
  *
  * Set `spark.sql.extendedExplainProviders=io.tidemark.TidemarkExplain`. Spark prints the heading for each plan; below it is
  * nothing for a batch query, or for one without an operator with state.
  */
class TidemarkExplain extends ExtendedExplainGenerator {
  override def title: String = "Event Time"
  override def generateExtendedInfo(plan: SparkPlan): String = PlanWatermarks.of(plan)
}
