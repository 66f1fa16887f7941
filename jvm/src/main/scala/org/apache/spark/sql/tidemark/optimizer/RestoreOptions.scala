package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan

/** Puts back the options of watermarks that Spark's optimizer has lost.
  *
  * A column keeps its id when it gets options. Spark removes the projection that gives them as one that does nothing, and
  * replaces an alias below the watermark by the column that it renames. Both leave the watermark with a column that has
  * other metadata.
  */
private[tidemark] object RestoreOptions {

  def restore(plan: LogicalPlan, origins: OriginsOfPlan): LogicalPlan = {
    val metadata = origins.all.map(origin => origin.nodeId -> origin.metadata).toMap
    plan.transform {
      case origin: EventTimeWatermark if metadata.get(origin.nodeId).exists(_ != origin.eventTime.metadata) =>
        origin.copy(eventTime = origin.eventTime.withMetadata(metadata(origin.nodeId)))
    }
  }
}
