package org.apache.spark.sql.tidemark.ui

import org.apache.spark.{SPARK_VERSION, SparkConf}
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.tidemark.session.Compatibility
import org.apache.spark.status.{AppHistoryServerPlugin, ElementTrackingStore, KVUtils}
import org.apache.spark.ui.SparkUI

/** The tab in the History Server, for applications whose event log has reports. The server finds this class when the jar for
  * its Spark is on its class path.
  *
  * What fails there takes away the page of a whole application. So a jar for another Spark does nothing.
  */
final class EventTimeHistoryPlugin extends AppHistoryServerPlugin with Logging {
  private lazy val isUsable = {
    val problem = Compatibility.problem(SPARK_VERSION, Runtime.version().feature())
    problem.foreach(error => logWarning(s"There is no tab for event time: ${error.message}"))
    problem.isEmpty
  }

  override def createListeners(conf: SparkConf, store: ElementTrackingStore): Seq[SparkListener] =
    if (isUsable) Seq(new KeepLastReports(conf, store)) else Nil

  override def setupUI(ui: SparkUI): Unit = if (isUsable) {
    val reports = new LoggedReports(ui.store.store)
    if (reports.all.nonEmpty) {
      val _ = EventTimeTab.attach(ui, reports)
    }
  }
}

/** Keeps the last report of each run. The number of runs is that of Spark's own page of streaming queries. */
private[ui] final class KeepLastReports(conf: SparkConf, store: ElementTrackingStore) extends SparkListener {
  private val most = conf.getInt("spark.sql.streaming.ui.retainedQueries", 100)
  store.addTrigger(classOf[LoggedReport], most.toLong)(forget)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case logged: ReportEvent if logged.version <= ReportEvent.Version =>
      store.write(
        new LoggedReport(logged.runId, logged.queryId, logged.timeMillis, logged.hasEnded, logged.report),
        checkTriggers = true)
    case _ =>
  }

  private def forget(count: Long): Unit = {
    val oldest =
      KVUtils.viewToSeq(store.view(classOf[LoggedReport])).sortBy(logged => (!logged.hasEnded, logged.timeMillis))
    oldest.take(math.max(0L, count - most).toInt).foreach(logged => store.delete(classOf[LoggedReport], logged.runId))
  }
}
