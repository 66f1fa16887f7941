package org.apache.spark.sql.tidemark.query

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

/** The queries of this JVM that Tidemark has seen start, by run.
  *
  * Any thread may call any method. After a query has ended only its report is kept, as text: its splits may be a million.
  */
private[tidemark] object RunningQueries {
  type Render = QueryView => String

  private final case class Ended(id: UUID, runId: UUID, report: String)

  private val running = new ConcurrentHashMap[UUID, Takeover]

  // A report is often asked for just after a query has stopped.
  private val RemembersEnded = 100
  private val ended = new java.util.LinkedHashMap[UUID, Ended] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[UUID, Ended]): Boolean = size() > RemembersEnded
  }

  def begun(takeover: Takeover, render: Render): Unit = {
    // Spark's listener bus drops events when it is too busy, also that of an end.
    running.asScala.collect { case (run, of) if of.hasEnded => run }.foreach(finished(_, render))
    running.put(takeover.runId, takeover)
    ()
  }

  def finished(runId: UUID, render: Render): Unit =
    Option(running.remove(runId)).foreach { takeover =>
      takeover.view.foreach { view =>
        val last = Ended(view.id, view.runId, render(view))
        ended.synchronized(ended.put(runId, last))
      }
      takeover.life match {
        case QueryLife.Running(watermarks, _) =>
          watermarks.abandon()
          watermarks.outputs.close()
        case _ => takeover.progressed()
      }
    }

  def get(runId: UUID): Option[Takeover] = Option(running.get(runId))

  /** The report of a query by its id or its run's, running or not long ended. */
  def report(id: UUID, render: Render): Option[String] = {
    val live = running.values.asScala.filter(t => t.id == id || t.runId == id).toSeq
    live.sortBy(!_.isActive).flatMap(_.view).headOption.map(render).orElse(ended.synchronized {
      ended.values.asScala.toSeq.findLast(one => one.id == id || one.runId == id).map(_.report)
    })
  }
}
