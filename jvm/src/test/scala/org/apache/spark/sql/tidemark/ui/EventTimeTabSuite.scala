package org.apache.spark.sql.tidemark.ui

import java.net.{HttpURLConnection, URI}
import java.util.UUID

import scala.io.Source
import scala.util.Using

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.UI.{UI_ENABLED, UI_PORT}
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** The tab of a running application, as a browser gets it. */
class EventTimeTabSuite extends RefusalsTest {
  import testImplicits._

  override protected def sparkConf: SparkConf = super.sparkConf.set(UI_ENABLED, true).set(UI_PORT, 0)

  private val Hostile = "<script>alert(1)</script>\"><svg onload=alert(2)>\u202e"

  private def address(path: String): String = s"${spark.sparkContext.ui.get.webUrl}/event-time/$path"

  private def fetch(path: String): (Int, String) = {
    val connection = URI.create(address(path)).toURL.openConnection().asInstanceOf[HttpURLConnection]
    val code = connection.getResponseCode
    val stream = if (code < 400) connection.getInputStream else connection.getErrorStream
    code -> Using.resource(Source.fromInputStream(stream, "UTF-8"))(_.mkString)
  }

  private def page(path: String): String = {
    val (code, text) = fetch(path)
    assert(code === 200, text)
    text
  }

  private def stalled(key: String): (StreamAction, org.apache.spark.sql.DataFrame) = {
    val (stream, df) = bare("time")
    val options = WatermarkOptions(key = Some(key), splitBy = SplitBy($"id"))
    val rows = AddData(stream, (1, at("12:00")), (2, at("10:05")))
    rows -> counted(withWatermark(df, "time", "10 minutes", options), "time")
  }

  private def whileItRuns(key: String)(check: StreamExecution => Unit): Unit = {
    val (rows, df) = stalled(key)
    testStream(df)(rows, ProcessAllAvailable(), Execute(check), StopStream)
  }

  test("there is no tab without a query, nor with the setting off") {
    withSQLConf("spark.tidemark.ui" -> "off")(whileItRuns("orders")(_ => ()))
    assert(!spark.sparkContext.ui.get.getTabs.exists(_.isInstanceOf[EventTimeTab]))
  }

  test("the tab lists queries with their sentences, and has the report of each") {
    whileItRuns("orders") { query =>
      val all = page("")
      assert(all.contains("Nothing comes out: aggregation #0 waits for"))
      assert(all.contains(s"/event-time/query/?id=${query.runId}"))
      val html = page(s"query/?id=${query.runId}&refresh=10")
      for (part <- Seq("Nothing comes out: ", "<svg ", "Operators", "This run has not ended.", "content=\"10\""))
        assert(html.contains(part), part)
      val json = new ObjectMapper().readTree(page(s"query/json?id=${query.runId}"))
      assert(json.at("/query/runId").asText === query.runId.toString)
      assert(json.at("/why/held_by").asText === "orders")
      assert(new ObjectMapper().readTree(page("json")).findValuesAsText("runId").contains(query.runId.toString))
    }
    assert(spark.sparkContext.ui.get.getTabs.count(_.isInstanceOf[EventTimeTab]) === 1)
  }

  test("a query that has ended stays, and so do those before it") {
    var run = Option.empty[UUID]
    whileItRuns("orders")(query => run = Some(query.runId))
    eventually(timeout(streamingTimeout)) {
      assert(page(s"query/?id=${run.get}").contains("This run has ended."))
      assert(page("").contains("ENDED"))
    }
  }

  test("a query whose session has the setting off is not shown in the tab of another one") {
    withSQLConf("spark.tidemark.ui" -> "off")(whileItRuns("secret") { query =>
      for (path <- Seq("", "json")) assert(!page(path).contains(query.runId.toString))
      assert(page(s"query/?id=${query.runId}").contains("There is no report of that run."))
    })
  }

  test("an id that is unknown, or none, is answered in words") {
    whileItRuns("orders") { _ =>
      for (id <- Seq("?id=1", s"?id=${UUID.randomUUID()}", "", "?id=%3Cscript%3E"))
        assert(page(s"query/$id").contains("There is no report of that run."))
    }
  }

  test("names are text, whatever they contain, and a page has no script but Spark's own") {
    whileItRuns(Hostile) { query =>
      def scripts(path: String) = page(path).sliding(7).count(_ == "<script")
      val ofSpark = scripts("query/?id=1")
      for (path <- Seq("", s"query/?id=${query.runId}")) {
        assert(page(path).contains("&lt;script&gt;alert(1)"))
        for (part <- Seq("<svg onload", "\u202e")) assert(!page(path).contains(part), part)
        assert(scripts(path) === ofSpark)
      }
    }
  }
}
