package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.SplitMarker
import org.apache.spark.sql.tidemark.session.SessionConf

/** Takes the splits of inputs out of a query that runs while Tidemark is disabled, so that it is the plan of stock Spark. */
object RemoveSplitMarkers extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(_.isInstanceOf[SplitMarker]) || SessionConf.enabled(conf)) plan
    else plan.transformUp { case marker: SplitMarker => marker.child }
}
