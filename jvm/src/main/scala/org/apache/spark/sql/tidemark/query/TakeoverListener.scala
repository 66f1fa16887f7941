package org.apache.spark.sql.tidemark.query

import java.util.UUID

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** Takes over a query when it has begun: Spark calls this on the query's own thread, before its first batch is planned.
  *
  * Spark swallows what a listener throws, so a failure is kept, and thrown when the query is planned.
  */
private[tidemark] final class TakeoverListener(session: classic.SparkSession, render: RunningQueries.Render)
    extends StreamingQueryListener
    with Logging {

  override def onQueryStarted(event: QueryStartedEvent): Unit =
    execution(event.id, event.runId).foreach { query =>
      try
        Takeover.of(query) match {
          case Some(takeover) => RunningQueries.begun(takeover, render)
          case None => RunningQueries.passedBy(query)
        }
      catch {
        case e: TidemarkException => fail(query, e)
        case e: Throwable =>
          fail(query, new TidemarkException(TidemarkError.TakeoverFailed(event.id.toString, e.toString), e))
      }
    }

  private def fail(query: MicroBatchExecution, error: TidemarkException): Unit = {
    RunningQueries.begun(Takeover.failed(query, error), render)
    val session = SparkInternals.session(query)
    session.experimental.extraOptimizations = session.experimental.extraOptimizations :+ new RaiseFailure(error)
  }

  override def onQueryTerminated(event: QueryTerminatedEvent): Unit = RunningQueries.finished(event.runId, render)

  override def onQueryProgress(event: QueryProgressEvent): Unit =
    RunningQueries.get(event.progress.runId).foreach(_.progressed())

  override def onQueryIdle(event: QueryIdleEvent): Unit = RunningQueries.get(event.runId).foreach(_.progressed())

  private def execution(id: UUID, runId: UUID): Option[MicroBatchExecution] =
    Option(session.sharedState.activeStreamingQueries.get(id)).collect {
      case query: MicroBatchExecution if query.runId == runId => query
    }
}
