package org.apache.spark.sql.tidemark.query

import java.sql.Timestamp

import io.tidemark.{MoreSuite, SplitBy, TidemarkException, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.sources.{ContinuousMemorySink, LowLatencyMemoryStream}
import org.apache.spark.sql.functions.{date_format, lit}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{OutputMode, StreamRealTimeModeSuiteBase}
import org.apache.spark.sql.tidemark.support.Refusals

/** Queries with the real-time trigger run as in stock Spark; those that ask for more are refused. */
class RealTimeSuite extends StreamRealTimeModeSuiteBase with MoreSuite with Refusals {
  import testImplicits._

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set("spark.sql.extensions", "io.tidemark.TidemarkExtension")
      .set(SQLConf.SESSION_LOCAL_TIMEZONE.key, "UTC")

  private def at(hour: Int) = new Timestamp(1709287200000L + hour * 3600000L)

  private def events: (LowLatencyMemoryStream[Timestamp], DataFrame) = {
    val stream = LowLatencyMemoryStream.singlePartition[Timestamp]
    stream -> stream.toDF().toDF("time")
  }

  private def run(df: DataFrame)(actions: StreamAction*): Unit =
    testStream(df, OutputMode.Update, Map.empty, new ContinuousMemorySink())(actions: _*)

  test("a real-time query with a plain watermark is left to Spark and runs") {
    val (stream, times) = events
    run(times.withWatermark("time", "1 minute").select(date_format($"time", "HH")))(
      AddData(stream, at(0)),
      StartStream(),
      CheckAnswerWithTimeout(60000, "10"),
      Execute { query =>
        assert(RunningQueries.get(query.runId).get.life === QueryLife.LeftToSpark("the real-time trigger"))
      },
      StopStream)
  }

  test("a real-time query whose watermark has a key or splits is refused") {
    val (stream, times) = events
    val keyed = withWatermark(times, "time", "1 minute", WatermarkOptions(key = Some("k")))
    val split = withWatermark(times, "time", "1 minute", WatermarkOptions(splitBy = SplitBy(lit(1))))
    for (asking <- Seq(keyed, split))
      run(asking)(
        AddData(stream, at(0)),
        StartStream(),
        ExpectFailure[TidemarkException](assertRefusal(_, "LEFT_TO_SPARK", "reason" -> "the real-time trigger")))
  }
}
