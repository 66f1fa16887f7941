package io.tidemark.core.plan

import io.tidemark.core.ColumnId

/** What flows along an edge of the plan.
  *
  * @param columns the watermark of each event-time column that flows here
  * @param least the minimum of all that flowed in, read by operators whose input no longer has an event-time column;
  *   `None` where no origin is below
  */
final case class Edge(columns: Map[ColumnId, AttributedWatermark], least: Option[AttributedWatermark]) {
  def column(id: ColumnId): AttributedWatermark = columns.getOrElse(id, least.getOrElse(AttributedWatermark.unknown))
}

object Edge {
  val empty: Edge = Edge(Map.empty, None)
}
