package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The names of sources. Before Spark 4.2 they have none. */
private[columns] object SourceNames {
  def of(source: LogicalPlan): Option[String] = None
}
