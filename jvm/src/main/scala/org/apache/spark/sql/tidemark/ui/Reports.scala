package org.apache.spark.sql.tidemark.ui

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.status.RunReport
import org.apache.spark.status.KVUtils
import org.apache.spark.util.kvstore.KVStore

/** The reports that the pages show. */
private[tidemark] trait Reports {

  /** Running queries come last. */
  def all: Seq[RunReport]

  def of(run: UUID): Option[RunReport]
}

/** Those of queries of this application, as they are now. */
private[tidemark] final class LiveReports extends Reports {
  private val shown = ConcurrentHashMap.newKeySet[UUID]()

  /** Shows a run from now on. A session decides for its own queries. */
  def show(run: UUID): Unit = {
    if (shown.size > LiveReports.Most) shown.removeIf(entry => !RunningQueries.knows(entry))
    val _ = shown.add(run)
  }

  override def all: Seq[RunReport] = RunningQueries.reports(shown.contains(_), Report.json)

  override def of(run: UUID): Option[RunReport] =
    if (shown.contains(run)) RunningQueries.reportOf(run, Report.json) else None
}

private[tidemark] object LiveReports {
  // Far more than are remembered.
  private val Most = 1000
}

/** Those that an application has written into its event log. */
private[tidemark] final class LoggedReports(store: KVStore) extends Reports {
  override def all: Seq[RunReport] =
    KVUtils.viewToSeq(
      store.view(classOf[LoggedReport])).sortBy(entry => (!entry.hasEnded, entry.timeMillis)).map(_.read)

  override def of(run: UUID): Option[RunReport] =
    try Some(store.read(classOf[LoggedReport], run.toString).read)
    catch { case _: NoSuchElementException => None }
}
