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

  test("nothing is said of a plan that no running query has") {
    val plan = spark.range(3).groupBy("id").count().queryExecution.executedPlan
    assert(new TidemarkExplain().generateExtendedInfo(plan) === "")
  }
}
