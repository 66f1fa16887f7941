package org.apache.spark.sql.tidemark.ui

import java.net.{HttpURLConnection, URI}

import jakarta.servlet.{Filter, FilterChain, ServletRequest, ServletResponse}
import jakarta.servlet.http.{HttpServletRequest, HttpServletRequestWrapper}

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.UI._
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** Who may see the tab: those who may see Spark's own pages. */
class EventTimeTabAccessSuite extends RefusalsTest {
  override protected def sparkConf: SparkConf = super.sparkConf
    .set(UI_ENABLED, true)
    .set(UI_PORT, 0)
    .set(ACLS_ENABLE, true)
    .set(UI_VIEW_ACLS, Seq("alice"))
    .set(UI_FILTERS, Seq(classOf[EventTimeTabAccessSuite.AsTheQuerySays].getName))

  private def code(path: String): Int = {
    val page = URI.create(s"${spark.sparkContext.ui.get.webUrl}/event-time/$path").toURL
    page.openConnection().asInstanceOf[HttpURLConnection].getResponseCode
  }

  test("a user whom Spark's view ACLs leave out is refused on every page") {
    val (stream, df) = bare("time")
    testStream(counted(df.withWatermark("time", "10 minutes"), "time"))(
      AddData(stream, 1 -> at("10:00")),
      ProcessAllAvailable(),
      Execute { query =>
        for (path <- Seq("?", "json?", s"query/?id=${query.runId}&", s"query/json?id=${query.runId}&")) {
          assert(code(s"${path}user=alice") === 200)
          assert(code(s"${path}user=mallory") === 403)
        }
      },
      StopStream)
  }
}

object EventTimeTabAccessSuite {

  /** Stands for what authenticates users in front of a web UI. */
  final class AsTheQuerySays extends Filter {
    override def doFilter(request: ServletRequest, response: ServletResponse, chain: FilterChain): Unit =
      chain.doFilter(
        new HttpServletRequestWrapper(request.asInstanceOf[HttpServletRequest]) {
          override def getRemoteUser: String = getParameter("user")
        },
        response)
  }
}
