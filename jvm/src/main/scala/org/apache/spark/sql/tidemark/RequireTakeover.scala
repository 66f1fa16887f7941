package org.apache.spark.sql.tidemark

import java.util.UUID

import scala.jdk.CollectionConverters._

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution

/** A query with watermarks that nobody has taken over must not run on unnoticed. */
private[tidemark] object RequireTakeover {
  def apply(session: SparkSession, runId: UUID): Unit = {
    val active = session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries.values.asScala
    active.collectFirst {
      case query: MicroBatchExecution
          if query.runId == runId && Takeover.isDue(query) =>
        throw new TidemarkException(
          TidemarkError.takeoverFailed(query.id.toString, "its start was not seen by the session's listener"))
    }
    ()
  }
}
