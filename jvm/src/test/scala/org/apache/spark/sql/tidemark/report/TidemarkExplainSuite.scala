package org.apache.spark.sql.tidemark.report

import io.tidemark.TidemarkExplain

import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** What Spark's own `explain` says of the watermarks of a running query. */
class TidemarkExplainSuite extends WatermarkTest {
  import testImplicits._

  private def explained(query: StreamExecution): String = query.explainInternal(extended = false)

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
          assert(lines.contains("== Extended Information (Event Time) =="))
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
          assert(line("aggregation #0").contains("waits for \"at\", \"paid\", held back by \"paid\""))
        })
    }
  }

  test("nothing is said of a plan that no running query has") {
    val plan = spark.range(3).groupBy("id").count().queryExecution.executedPlan
    assert(new TidemarkExplain().generateExtendedInfo(plan) === "")
  }
}
