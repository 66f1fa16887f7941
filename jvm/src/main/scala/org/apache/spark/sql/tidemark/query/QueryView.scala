package org.apache.spark.sql.tidemark.query

import java.util.UUID

import io.tidemark.TidemarkError
import io.tidemark.core.Input
import io.tidemark.core.memory.WatermarkEntry

import org.apache.spark.sql.tidemark.columns.PlanOrigins
import org.apache.spark.sql.tidemark.exec.LateRows

/** What can be said of a query, as plain data; a report is made of it only when somebody asks. */
private[tidemark] final case class QueryView(id: UUID, runId: UUID, name: Option[String], state: QueryView.State)

private[tidemark] object QueryView {
  sealed trait State

  final case class LeftToSpark(reason: String) extends State

  /** Until the first batch of a run is planned: what the checkpoint's last entry knows. */
  final case class Waiting(recalled: Recalled) extends State

  /** @param lateRows rows of each operator's inputs that were late since this run began
    * @param notes what a user should know of the query, though it runs
    */
  final case class Planned(
      snapshot: QueryWatermarks.Snapshot,
      origins: PlanOrigins,
      lateRows: Map[Input, LateRows.Total],
      notes: Seq[TidemarkError])
      extends State

  /** @param entry that of the last batch that counts
    * @param isRestart whether a run before this one has begun a batch
    */
  final case class Recalled(entry: WatermarkEntry, origins: PlanOrigins, isRestart: Boolean)
}
