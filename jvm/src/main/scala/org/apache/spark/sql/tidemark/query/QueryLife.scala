package org.apache.spark.sql.tidemark.query

import org.apache.spark.sql.tidemark.sources.SourceBacklog
import org.apache.spark.sql.tidemark.status.QueryView

/** Where a query stands that Tidemark has seen start. It changes once: [[Takeover.decide]] sets it when the query's first
  * batch is planned.
  */
private[tidemark] sealed trait QueryLife

private[tidemark] object QueryLife {

  /** Nothing is decided: some of the query's settings come from its checkpoint, with the first batch.
    *
    * @param restored what the checkpoint has of the query, unless it cannot be read
    */
  final case class Started(start: StartOfRun, restored: Option[QueryView.RestoredEntry]) extends QueryLife

  /** What does not change until the query ends. */
  sealed trait Decided extends QueryLife

  /** Spark's own watermarks are used. */
  final case class LeftToSpark(reason: String) extends Decided

  final case class Running(watermarks: QueryWatermarks, sources: SourceBacklog) extends Decided

  /** The query ends with this error, which is thrown wherever the decision is needed.
    *
    * @param known what was known of the query before
    */
  final case class Failed(error: Throwable, known: Option[QueryView.State]) extends QueryLife
}
