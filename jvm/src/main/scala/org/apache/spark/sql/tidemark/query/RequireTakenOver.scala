package org.apache.spark.sql.tidemark.query

import java.util.UUID

import scala.jdk.CollectionConverters._

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, StreamExecution}

/** Stops a query with watermarks to which Tidemark is not attached. */
private[tidemark] object RequireTakenOver {

  /** The query of that run, if there is one. */
  def apply(session: SparkSession, runId: UUID): Option[StreamExecution] = {
    val active = session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries.values.asScala
    val run = active.find(_.runId == runId)
    run.foreach {
      case query: MicroBatchExecution if Takeover.shouldTakeOver(query) =>
        throw new TidemarkException(
          TidemarkError.TakeoverFailed(query.id.toString, "the session's listener did not see it start"))
      case _ =>
    }
    run
  }
}
