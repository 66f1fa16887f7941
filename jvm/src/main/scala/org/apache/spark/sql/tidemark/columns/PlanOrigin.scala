package org.apache.spark.sql.tidemark.columns

import java.util.UUID

import io.tidemark.core.OriginName
import io.tidemark.core.memory.OriginRules

import org.apache.spark.sql.types.Metadata

/** One watermark of a plan, as `withWatermark` declares it.
  *
  * @param clocks the node of the physical plan that keeps the clocks of its splits
  * @param metadata the column's metadata, in which the options are
  * @param needsTidemark the option that goes beyond Spark's `withWatermark`, if the user set one
  */
private[tidemark] final case class PlanOrigin(
    nodeId: UUID,
    clocks: UUID,
    name: OriginName,
    column: String,
    metadata: Metadata,
    rules: OriginRules,
    needsTidemark: Option[String])
