package org.apache.spark.sql.tidemark

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.tidemark.TidemarkException

/** The queries of this JVM that have been taken over, by run; a failure is kept until the query's planning raises it. */
private[tidemark] object Takeovers {
  private val running = new ConcurrentHashMap[UUID, Either[TidemarkException, Takeover]]

  // A report is often asked for just after a query has stopped.
  private val RemembersEnded = 100
  private val ended = new java.util.LinkedHashMap[UUID, Report] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[UUID, Report]): Boolean = size() > RemembersEnded
  }

  def begun(runId: UUID, takeover: Either[TidemarkException, Takeover]): Unit = {
    // Spark's listener bus drops events when it is too busy, that of an end too.
    running.asScala.collect { case (run, Right(of)) if of.hasEnded => run }.foreach(finished)
    running.put(runId, takeover)
    ()
  }

  def finished(runId: UUID): Unit =
    Option(running.remove(runId)).flatMap(_.toOption).foreach { takeover =>
      Report.of(takeover).foreach(report => ended.synchronized(ended.put(runId, report)))
      takeover.decision.foreach(_.foreach(_.abandon()))
    }

  def get(runId: UUID): Option[Either[TidemarkException, Takeover]] = Option(running.get(runId))

  /** The report of a query by its id or its run's, running or not long ended. */
  def report(id: UUID): Option[Report] = {
    val live = running.values.asScala.flatMap(_.toOption).filter(t => t.id == id || t.runId == id).toSeq
    live.sortBy(!_.isActive).headOption.flatMap(Report.of).orElse(ended.synchronized {
      ended.values.asScala.toSeq.findLast(report => report.id == id || report.runId == id)
    })
  }
}
