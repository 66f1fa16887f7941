package io.tidemark.core.plan

import io.tidemark.core.ColumnId

/** The watermarks on an edge of the plan.
  *
  * @param columns the watermark of each event-time column on this edge
  * @param least the minimum of all watermarks below, for operators whose input no longer has an event-time column;
  *   `None` if no origin is below
  */
final case class Edge(columns: Map[ColumnId, AttributedWatermark], least: Option[AttributedWatermark]) {
  def column(id: ColumnId): AttributedWatermark = columns.getOrElse(id, least.getOrElse(AttributedWatermark.unknown))
}

object Edge {
  val empty: Edge = Edge(Map.empty, None)
}
