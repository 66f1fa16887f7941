package org.apache.spark.sql.tidemark.ui

import java.time.ZoneOffset
import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal
import scala.xml.Node

import io.tidemark.core.why.Words

import jakarta.servlet.http.HttpServletRequest
import org.json4s.{JArray, JNothing, JString, JValue}
import org.json4s.jackson.JsonMethods

import org.apache.spark.sql.tidemark.status.RunReport
import org.apache.spark.sql.tidemark.view.{ReportHtml, ReportList}
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}

/** The tab of Spark's web UI that has the report of each query, in a running application and in the History Server.
  *
  * Spark's own rules of who may see the UI hold for it. Its pages have no script and load nothing. They use no session and
  * no `SparkEnv`: the History Server has neither.
  */
private[tidemark] final class EventTimeTab(ui: SparkUI, val reports: Reports)
    extends SparkUITab(ui, EventTimeTab.Prefix) {
  import EventTimeTab._

  override val name: String = "Event Time"

  attachPage(QueriesPage)
  attachPage(QueryPage)

  /** All queries. */
  private object QueriesPage extends WebUIPage("") {
    override def render(request: HttpServletRequest): Seq[Node] = page(request, "Event Time") {
      ReportList.table(reports.all.reverse.map(run => ReportList.Row(link(request, run), status(run), run.json)))
    }

    override def renderJson(request: HttpServletRequest): JValue = JArray(reports.all.map(json).toList)
  }

  /** One run of a query, by the id of the run. */
  private object QueryPage extends WebUIPage("query") {
    override def render(request: HttpServletRequest): Seq[Node] = page(request, "Event Time of a Query") {
      asked(request).fold[Seq[Node]](<p>{Unknown}</p>) { report =>
        <p>{ending(report)} {s"Its id is ${report.runId}."}</p> ++
          ReportHtml.markup(report.json)
      }
    }

    override def renderJson(request: HttpServletRequest): JValue = asked(request).fold[JValue](JNothing)(json)
  }

  private def asked(request: HttpServletRequest): Option[RunReport] =
    Option(request.getParameter("id")).flatMap(text => Try(UUID.fromString(text)).toOption).flatMap(reports.of)

  private def link(request: HttpServletRequest, report: RunReport): String =
    s"${UIUtils.prependBaseUri(request, basePath)}/$prefix/query/?id=${report.runId}"

  private def page(request: HttpServletRequest, title: String)(body: => Seq[Node]): Seq[Node] = {
    def content =
      try refresh(request) ++ body
      catch { case NonFatal(e) => <p>{s"The page cannot be shown: $e"}</p> }
    UIUtils.headerSparkPage(request, title, content, this)
  }

  /** Once in that many seconds, if the address ends in `refresh=` and a number. */
  private def refresh(request: HttpServletRequest): Seq[Node] =
    Option(request.getParameter("refresh")).flatMap(_.toIntOption).filter(n => n >= 5 && n <= 3600).toSeq.map {
      seconds =>
        <meta http-equiv="refresh" content={seconds.toString}/>
    }
}

private[tidemark] object EventTimeTab {
  private val Prefix = "event-time"
  private val Unknown = "There is no report of that run. The tab has running queries, and those that have ended last."

  /** The reports of the tab, which is added if it does not exist. */
  def attach(ui: SparkUI, reports: => Reports): Reports = ui.synchronized {
    ui.getTabs.collectFirst { case tab: EventTimeTab => tab }.getOrElse {
      val tab = new EventTimeTab(ui, reports)
      ui.attachTab(tab)
      tab
    }.reports
  }

  private def status(report: RunReport): String =
    if (report.hasEnded) (if (hasFailed(report)) "FAILED" else "ENDED")
    else if (report.loggedMillis.isEmpty) "RUNNING" else "END NOT LOGGED"

  private def hasFailed(report: RunReport): Boolean = json(report) \ "why" \ "code" == JString("FAILED")

  private def ending(report: RunReport): String =
    if (report.hasEnded) (if (hasFailed(report)) "This run has failed." else "This run has ended.")
    else report.loggedMillis.fold("This run has not ended.") { millis =>
      s"The end of this run is not in the event log. Its last report there is of ${utc.at(millis)}."
    }

  private val utc = new Words(ZoneOffset.UTC)

  private def json(report: RunReport): JValue = JsonMethods.parse(report.json)
}
