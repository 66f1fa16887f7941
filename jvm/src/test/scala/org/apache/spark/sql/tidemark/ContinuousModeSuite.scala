package org.apache.spark.sql.tidemark

import java.sql.Timestamp

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.{isLate, withWatermark}

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.execution.streaming.continuous.ContinuousExecution
import org.apache.spark.sql.execution.streaming.sources.ContinuousMemoryStream
import org.apache.spark.sql.functions.date_format
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report

/** In continuous mode Spark refuses watermarks, and with them all that Tidemark adds to them; what has none runs as ever. */
class ContinuousModeSuite extends KeyedWatermarkTest {
  import testImplicits._

  private val continuous = StartStream(Trigger.Continuous(100))

  private def events: (ContinuousMemoryStream[Timestamp], DataFrame) = {
    val stream = ContinuousMemoryStream.singlePartition[Timestamp]
    stream -> stream.toDF().toDF("time")
  }

  /** Runs, and nobody of ours has to do with it. */
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

  test("a query without a watermark runs, and nobody takes it over")(leftAlone(identity))

  private def split = WatermarkOptions(splitBy = SplitBy($"time"))

  private val refused = Seq[(String, DataFrame => DataFrame)](
    "a watermark" -> (_.withWatermark("time", "1 minute")),
    "a watermark that is read" -> (_.withWatermark("time", "1 minute").where(!isLate($"time"))),
    "a watermark with a key" -> (withWatermark(_, "time", "1 minute", WatermarkOptions(key = Some("k")))),
    "a watermark with splits" -> (withWatermark(_, "time", "1 minute", split)),
    "a watermark with an idle time" ->
      (withWatermark(_, "time", "1 minute", WatermarkOptions(idle = Idle("1 minute")))))

  for ((what, query) <- refused)
    test(s"$what is refused by Spark when the query is started") {
      def refusal = {
        val start = intercept[AnalysisException](testStream(query(events._2))(continuous))
        start.getMessage.linesIterator.next()
      }
      assert(refusal.matches("Continuous processing does not support (EventTimeWatermark|SplitBy) operations.*"))
    }

  test("where Spark is told not to look, a query with a watermark runs, and nobody takes it over either") {
    withSQLConf(SQLConf.UNSUPPORTED_OPERATION_CHECK_ENABLED.key -> "false") {
      def marked() = leftAlone(_.withWatermark("time", "1 minute"))
      marked()
      stock(marked())
    }
  }
}
