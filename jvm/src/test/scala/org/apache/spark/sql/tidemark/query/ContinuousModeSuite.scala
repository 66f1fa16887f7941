package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import io.tidemark.{Idle, MoreSuite, SplitBy, WatermarkOptions}
import io.tidemark.functions.{isLate, withWatermark}

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.execution.streaming.continuous.ContinuousExecution
import org.apache.spark.sql.execution.streaming.sources.ContinuousMemoryStream
import org.apache.spark.sql.functions.date_format
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** In continuous mode Spark refuses watermarks and their options. A query without one runs as without Tidemark. */
class ContinuousModeSuite extends WatermarkTest with MoreSuite {
  import testImplicits._

  private val continuous = StartStream(Trigger.Continuous(100))

  private def events: (ContinuousMemoryStream[Timestamp], DataFrame) = {
    val stream = ContinuousMemoryStream.singlePartition[Timestamp]
    stream -> stream.toDF().toDF("time")
  }

  /** Runs a query, and checks that Tidemark does not take part in it. */
  private def leftAlone(query: DataFrame => DataFrame): Unit = {
    val (stream, times) = events
    testStream(query(times).select(date_format($"time", "HH:mm")))(
      continuous,
      AddData(stream, at("10:00"), at("12:00")),
      CheckAnswer("10:00", "12:00"),
      Execute { query =>
        assert(query.isInstanceOf[ContinuousExecution])
        assert(RunningQueries.get(query.runId).isEmpty && RunningQueries.report(query.id, Report.json).isEmpty)
      },
      StopStream)
  }

  test("stock Spark runs a continuous query without a watermark")(leftAlone(identity))

  private def split = WatermarkOptions(splitBy = SplitBy($"time"))

  private val refused = Seq[(String, DataFrame => DataFrame)](
    "a watermark" -> (_.withWatermark("time", "1 minute")),
    "a watermark that is_late reads" -> (_.withWatermark("time", "1 minute").where(!isLate($"time"))),
    "a watermark with a key" -> (withWatermark(_, "time", "1 minute", WatermarkOptions(key = Some("k")))),
    "a watermark with splits" -> (withWatermark(_, "time", "1 minute", split)),
    "a watermark with an idle time" ->
      (withWatermark(_, "time", "1 minute", WatermarkOptions(idle = Idle("1 minute")))))

  for ((what, query) <- refused)
    test(s"Spark refuses $what when a continuous query starts") {
      def refusal = {
        val start = intercept[AnalysisException](testStream(query(events._2))(continuous))
        start.getMessage.linesIterator.next()
      }
      assert(refusal.matches("Continuous processing does not support (EventTimeWatermark|SplitBy) operations.*"))
    }

  test("stock Spark runs a continuous query with a watermark if the check for unsupported operations is disabled") {
    withSQLConf(SQLConf.UNSUPPORTED_OPERATION_CHECK_ENABLED.key -> "false") {
      def marked() = leftAlone(_.withWatermark("time", "1 minute"))
      marked()
      stock(marked())
    }
  }
}
