package org.apache.spark.sql.tidemark.ui

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import io.tidemark.TidemarkConf.Ui

import org.apache.spark.internal.{config, Logging}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.session.SessionConf

/** Adds the tab to the web UI with the first query that has watermarks, and writes reports into Spark's event log.
  *
  * Spark calls `onQueryStarted` on the query's own thread, and the others on the thread of its listeners. A page or a log that
  * fails is logged, and never stops a query.
  *
  * @param nowMillis the wall clock
  */
private[ui] final class UiListener(session: SparkSession, nowMillis: () => Long)
    extends StreamingQueryListener
    with Logging {
  private val context = session.sparkContext
  private val paces = new ConcurrentHashMap[UUID, LogPace]

  override def onQueryStarted(event: QueryStartedEvent): Unit = guarded {
    if (RunningQueries.get(event.runId).isDefined) setting match {
      case Ui.Off =>
      case shown =>
        context.ui.map(EventTimeTab.attach(_, new LiveReports)).foreach {
          case live: LiveReports => live.show(event.runId)
          case _ =>
        }
        if (shown == Ui.On && context.conf.get(config.EVENT_LOG_ENABLED)) {
          val _ = paces.put(event.runId, new LogPace(nowMillis()))
        }
    }
  }

  override def onQueryProgress(event: QueryProgressEvent): Unit = guarded {
    Option(paces.get(event.progress.runId)).filter(_.isDue(nowMillis())).foreach(log(event.progress.runId, _))
  }

  override def onQueryTerminated(event: QueryTerminatedEvent): Unit = guarded {
    Option(paces.remove(event.runId)).foreach(log(event.runId, _))
  }

  private def log(run: UUID, pace: LogPace): Unit = RunningQueries.reportOf(run, Report.json).foreach { report =>
    val now = nowMillis()
    pace.logged(now, report.json.length)
    context.listenerBus.post(
      ReportEvent(ReportEvent.Version, report.id.toString, run.toString, now, report.hasEnded, report.json))
  }

  private def setting: Ui = SessionConf.ui(session.sessionState.conf)

  private def guarded(act: => Unit): Unit =
    try act
    catch {
      // Some vendors have a web UI of their own, which may lack what Spark's has.
      case e @ (NonFatal(_) | _: LinkageError) => logWarning("The web UI or the event log lacks a query's report", e)
    }
}
