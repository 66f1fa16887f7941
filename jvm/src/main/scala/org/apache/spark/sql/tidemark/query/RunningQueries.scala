package org.apache.spark.sql.tidemark.query

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.ref.WeakReference

import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.tidemark.status.{QueryView, RunReport}

/** The queries of this JVM that Tidemark has seen start, by run.
  *
  * Any thread may call any method. After a query has ended only its report is kept, as text: its splits may be a million.
  */
private[tidemark] object RunningQueries {
  type Render = QueryView => String

  private val running = new ConcurrentHashMap[UUID, Takeover]

  // A report is often asked for just after a query has stopped.
  val MostEnded = 100
  private final class Remembered[A] extends java.util.LinkedHashMap[UUID, A] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[UUID, A]): Boolean = size() > MostEnded
  }
  private val ended = new Remembered[RunReport]

  // Queries that were left to Spark when they started.
  private val passed = new Remembered[Passed]
  private final class Passed(execution: MicroBatchExecution) {
    val (id, runId) = (execution.id, execution.runId)
    private val query = new WeakReference(execution)
    @volatile private var last = Takeover.passedBy(execution)
    def view: QueryView = {
      last = query.get.fold(last.copy(hasEnded = true))(Takeover.passedBy)
      last
    }

    /** Only what is known of it is kept. */
    def end(): Unit = {
      val _ = view
      query.clear()
    }
  }

  def begun(takeover: Takeover, render: Render): Unit = {
    // Spark's listener bus drops events when it is too busy, also that of an end.
    running.asScala.collect { case (run, of) if of.hasEnded => run }.foreach(finished(_, render))
    running.put(takeover.runId, takeover)
    ()
  }

  def finished(runId: UUID, render: Render): Unit = {
    passed.synchronized(Option(passed.get(runId))).foreach(_.end())
    Option(running.get(runId)).foreach { takeover =>
      // The last report is kept before the query is removed, so that a caller in between finds one.
      val last = rendered(takeover.view.copy(hasEnded = true), hasEnded = true, render)
      ended.synchronized(ended.put(runId, last))
      if (running.remove(runId, takeover)) takeover.close()
    }
  }

  /** A query that Tidemark has seen start and has not taken over. */
  def passedBy(execution: MicroBatchExecution): Unit = {
    val query = new Passed(execution)
    passed.synchronized(passed.put(query.runId, query))
    ()
  }

  private def rendered(view: QueryView, hasEnded: Boolean, render: Render): RunReport =
    RunReport(view.id, view.runId, hasEnded, render(view))

  def get(runId: UUID): Option[Takeover] = Option(running.get(runId))

  /** The report of a query by its id or its run's, running or not long ended. */
  def report(id: UUID, render: Render): Option[String] =
    live(t => t.id == id || t.runId == id, render).nextOption().map(_.json).orElse(
      remembered.findLast(report => report.id == id || report.runId == id).map(_.json)).orElse(
      passed.synchronized(passed.values.asScala.toSeq).findLast(query => query.id == id || query.runId == id)
        .map(query => render(query.view)))

  /** The report of one run, running or not long ended. */
  def reportOf(runId: UUID, render: Render): Option[RunReport] =
    live(_.runId == runId, render).nextOption().orElse(remembered.find(_.runId == runId))

  /** The reports of these runs. Those that have ended come first, in the order of their ends. */
  def reports(runs: UUID => Boolean, render: Render): Seq[RunReport] = {
    val alive = live(takeover => runs(takeover.runId), render).toSeq
    val over = remembered.filter(report => runs(report.runId))
    over ++ alive.filterNot(report => over.exists(_.runId == report.runId))
  }

  /** Whether there is a report of this run. */
  def knows(runId: UUID): Boolean = running.containsKey(runId) || remembered.exists(_.runId == runId)

  private def live(which: Takeover => Boolean, render: Render): Iterator[RunReport] =
    running.values.asScala.filter(which).toSeq.sortBy(!_.isActive).iterator.map { takeover =>
      rendered(takeover.view, hasEnded = false, render)
    }

  private def remembered: Seq[RunReport] = ended.synchronized(ended.values.asScala.toSeq)
}
