package org.apache.spark.sql.tidemark.report

import java.nio.file.{Files, Paths}
import java.sql.Timestamp

import io.tidemark.{SplitBy, TidemarkExplain, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.execution.{ExtendedMode, FormattedMode}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** What Spark's own `explain` says of the watermarks of a running query. */
class TidemarkExplainSuite extends WatermarkTest {
  import testImplicits._

  private val heading = "== Extended Information (Event Time) =="

  private def explained(query: StreamExecution): String = query.explainInternal(extended = false)

  /** The lines below Tidemark's heading. */
  private def said(query: StreamExecution): Seq[String] =
    explained(query).linesIterator.dropWhile(_ != heading).drop(1).takeWhile(_.nonEmpty).toSeq

  private def keyed(key: String) = WatermarkOptions(key = Some(key))

  /** Payments of two devices, of which one has fallen silent: `docs/explain.md` has the same query. */
  private def stalled(check: StreamExecution => Unit): Unit = stalled("payments", "pl-7")(check)

  private def stalled(key: String, device: String)(check: StreamExecution => Unit): Unit =
    withSQLConf(SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key -> classOf[TidemarkExplain].getName) {
      val stream = MemoryStream[(String, Timestamp)]
      val options = keyed(key).copy(splitBy = SplitBy($"device"))
      val payments = withWatermark(stream.toDF().toDF("device", "at"), "at", "10 minutes", options)
      testStream(payments.groupBy(window($"at", "1 hour")).count().select($"count"))(
        AddData(stream, device -> at("9:50"), "de-1" -> at("9:55")),
        ProcessAllAvailable(),
        AddData(stream, "de-1" -> at("12:00")),
        ProcessAllAvailable(),
        Execute(check))
    }

  test("explain of a query that a split holds begins with the reason and what to do, in the report's words") {
    stalled { query =>
      val lines = said(query)
      assert(lines.head.startsWith(
        "Nothing comes out: aggregation #0 waits for \"payments\", whose split \"pl-7\" is at 2024-03-01T09:40:00Z, "))
      assert(lines.head.contains(" Fix this by setting idle_after on \"payments\", longer than any pause"))
      val why = new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get).get("why")
      assert(lines.head === s"${why.get("sentence").asText} Fix this by ${why.get("fix").asText}.")
      assert(lines.last.endsWith("waits for \"payments\", held back by split \"pl-7\" of \"payments\""))
    }
  }

  test("what a key and a split are called is cut, and cannot move a cursor or make a line") {
    val hostile = "x\n\u001b[2J\u0000\u202e<script>"
    stalled(hostile + "k" * 10000, hostile + "s" * 10000) { query =>
      val lines = said(query)
      assert(lines.size === 2 && lines.head.startsWith("Nothing comes out: ") &&
        lines.last.startsWith("aggregation #0: "))
      assert(lines.forall(line => line.length < 1000 && line.forall(c => c >= ' ' && c != '\u202e')), lines)
    }
  }

  test("docs/explain.md shows what explain prints of a query that a split holds") {
    val page = Files.readString(Paths.get(sys.props("tidemark.root"), "docs/explain.md"))
    // The wall clock is the only time that differs.
    def shown(lines: Seq[String]) = lines.map(_.replaceAll("last active at \\S+Z", "last active at TIME"))
    val example = page.linesIterator.dropWhile(_ != heading).drop(1).takeWhile(_ != "```").toSeq
    stalled(query => assert(shown(said(query)) === shown(example)))
  }

  test("explain of an input without rows says so, and that no row is late and no state is evicted yet") {
    withSQLConf(SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key -> classOf[TidemarkExplain].getName) {
      val orders = MemoryStream[(Int, Timestamp)]
      val payments = MemoryStream[(Int, Timestamp)]
      def input(stream: MemoryStream[(Int, Timestamp)], key: String) =
        withWatermark(stream.toDF().toDF("id", "time"), "time", "10 minutes", keyed(key))
      val both = input(orders, "orders").union(input(payments, "payments"))
      testStream(both.groupBy(window($"time", "1 hour")).count().select($"count"))(
        AddData(orders, 1 -> at("12:00")),
        ProcessAllAvailable(),
        Execute { (query: StreamExecution) =>
          assert(said(query) === Seq(
            "Nothing comes out: aggregation #0 waits for \"payments\", which has had no row with an event time yet. Fix this " +
              "by checking that rows arrive there and that their event time is not null, or by setting idle_after on " +
              "\"payments\".",
            "aggregation #0: no row is late yet, evicts nothing yet: no watermark, waits for \"orders\", \"payments\", " +
              "held back by \"payments\""))
        })
    }
  }

  test("the plan shows the names of what Tidemark adds to the progress, and no values") {
    stalled { query =>
      val node = explained(query).linesIterator.find(_.contains("LateRowsMetrics")).get
      assert(node.contains("tidemark, [late_rows, late_rows_0, why, held_by, watermark_ms_payments, "), node)
      val texts = query.explainInternal(extended = true) +:
        Seq(ExtendedMode, FormattedMode).map(query.lastExecution.explainString(_))
      texts.foreach(text => assert(!text.contains("null AS"), text))
    }
  }

  test("explain of a running query has each operator's watermarks, and when its next window is due") {
    withSQLConf(SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key -> classOf[TidemarkExplain].getName) {
      val (stream, events) = timed("t", "10 minutes")
      testStream(events.groupBy(window($"t", "1 hour")).count().select($"count"))(
        AddData(stream, 1 -> at("10:00")),
        ProcessAllAvailable(),
        AddData(stream, 1 -> at("10:20")),
        ProcessAllAvailable(),
        Execute { (query: StreamExecution) =>
          val lines = explained(query).linesIterator.toSeq
          assert(lines.contains(heading))
          assert(lines.exists(_.startsWith("aggregation #0: late up to 2024-03-01T")))
          assert(lines.exists(_.contains("evicts up to 2024-03-01T10:10:00Z, next due at 2024-03-01T11:00:00Z")))
        })
    }
  }

  test("explain of a join has each side, and the input that holds it back") {
    withSQLConf(SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key -> classOf[TidemarkExplain].getName) {
      val (orders, a) = timed("at", "0 seconds")
      val (payments, b) = timed("paid", "0 seconds", "order")
      val range = "id = order AND paid >= at AND paid <= at + INTERVAL 15 MINUTES"
      testStream(a.join(b, expr(range)).groupBy(window($"at", "1 hour")).count().select($"count"))(
        AddData(orders, 1 -> at("12:00")),
        ProcessAllAvailable(),
        AddData(payments, 1 -> at("10:30")),
        ProcessAllAvailable(),
        Execute { (query: StreamExecution) =>
          val lines = explained(query).linesIterator.dropWhile(!_.contains("Event Time")).drop(1).toSeq
          def line(of: String) = lines.find(_.startsWith(of)).getOrElse(fail(lines.mkString("\n")))
          def held(line: String, millis: String, by: String) =
            assert(line.contains(s"evicts up to 2024-03-01T$millis") && line.endsWith(s"held back by \"$by\""), line)
          held(line("join (inner) #1 left: late up to 2024-03-01T12:00:00Z"), "10:14:59.999Z", by = "paid")
          held(line("join (inner) #1 right: late up to 2024-03-01T10:30:00Z"), "11:59:59.999Z", by = "at")
          assert(line("aggregation #0:").contains("waits for \"at\", \"paid\", held back by \"paid\""))
        })
    }
  }

  test("explain of a query that is left to Spark says only that") {
    withSQLConf(
      SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key -> classOf[TidemarkExplain].getName,
      SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max") {
      val (stream, events) = timed("t", "10 minutes")
      testStream(events.groupBy(window($"t", "1 hour")).count().select($"count"))(
        AddData(stream, 1 -> at("10:00")),
        ProcessAllAvailable(),
        Execute { (query: StreamExecution) =>
          assert(said(query) ===
            Seq("Watermarks are Spark's own here: spark.sql.streaming.multipleWatermarkPolicy=max."))
        })
    }
  }

  test("nothing is said of a plan that no running query has") {
    val plan = spark.range(3).groupBy("id").count().queryExecution.executedPlan
    assert(new TidemarkExplain().generateExtendedInfo(plan) === "")
  }
}
