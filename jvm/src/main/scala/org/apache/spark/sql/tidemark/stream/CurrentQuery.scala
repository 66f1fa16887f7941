package org.apache.spark.sql.tidemark.stream

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution

/** The query whose batch is planned: by its thread, and the session that it has to itself.
  *
  * What a thread says of itself, its job group and other local properties, is changed by users in `foreachBatch`.
  */
private[tidemark] object CurrentQuery {
  def of(session: SparkSession): Option[StreamExecution] =
    session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries.values.asScala.find { query =>
      (query.queryExecutionThread eq Thread.currentThread) && (SparkInternals.session(query) eq session)
    }
}
