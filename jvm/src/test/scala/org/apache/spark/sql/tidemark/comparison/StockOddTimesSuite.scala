package org.apache.spark.sql.tidemark.comparison

import java.time.{LocalDateTime, ZoneOffset}

import io.tidemark.MoreSuite

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.Histories._
import org.apache.spark.sql.tidemark.support.StockComparison

/** Stock stays stock: times that are missing, or far from ours. */
class StockOddTimesSuite extends StockComparison with MoreSuite {
  import testImplicits._

  private def newYear(number: Int): History =
    wandering(4, LocalDateTime.of(number, 12, 31, 23, 40).toInstant(ZoneOffset.UTC))

  private val someNull = withNulls(wandering(5))
  private val allNull = wandering(5).map(_.map { case (id, _) => (id, None) })
  private val before1970 = newYear(1955)
  private val around1970 = newYear(1969)
  private val year9999 = newYear(9998)

  for ((times, history) <- Seq("with nulls" -> someNull, "before 1970" -> before1970, "around 1970" -> around1970))
    sameAsStock(s"windows of times $times", "update", history)(_.groupBy(window($"t", "10 minutes"), $"id").count())

  for ((times, history) <- Seq("with nulls" -> someNull, "around 1970" -> around1970, "in 9999" -> year9999))
    sameAsStock(s"windows of times $times", "append", history)(_.groupBy(window($"t", "10 minutes")).count())

  for ((times, history) <- Seq("that are all null" -> allNull, "with nulls before 1970" -> withNulls(before1970)))
    sameAsStock(s"deduplication by times $times", "append", history)(_.dropDuplicates("id", "t"))

  for ((times, history) <- Seq("with nulls" -> someNull, "around 1970" -> around1970, "in 9999" -> year9999))
    sameAsStock(s"deduplication within the watermark of times $times", "append", history)(
      _.dropDuplicatesWithinWatermark("id"))

  test("a watermark on a timestamp without time zone is refused with Spark's own error") {
    def refusal: (String, String) = {
      val events = timed(MemoryStream[Event]).withColumn("t", $"t".cast("timestamp_ntz"))
      val refused = intercept[AnalysisException](events.withWatermark("t", Delay).queryExecution.assertAnalyzed())
      (refused.getCondition, refused.getMessageParameters.get("eventName"))
    }
    assert(refusal === stock(refusal))
    assert(refusal._1 === "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE")
  }

  sameAsStock("grouping by a timestamp without time zone beside the event time")(
    _.withColumn("local", $"t".cast("timestamp_ntz")).groupBy(window($"t", "10 minutes"), $"local").count())
}
