package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import io.tidemark.core.OriginName
import io.tidemark.core.memory.OriginRules

/** One watermark of a plan, as `withWatermark` declares it.
  *
  * @param clocks the node of the physical plan that keeps the clocks of its splits
  * @param asks the option that goes beyond Spark's `withWatermark`, if the user set one
  */
private[tidemark] final case class PlanOrigin(
    nodeId: UUID,
    clocks: UUID,
    name: OriginName,
    column: String,
    rules: OriginRules,
    asks: Option[String])
