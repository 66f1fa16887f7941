package org.apache.spark.sql.tidemark

import java.time.{LocalDateTime, ZoneOffset}

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.Histories._

/** Stock stays stock: times that are missing, or far from ours. */
class StockOddTimesSuite extends StockComparison {
  import testImplicits._

  private def year(number: Int): History =
    wandering(4, LocalDateTime.of(number, 12, 31, 20, 0).toInstant(ZoneOffset.UTC))

  private val odd: Seq[(String, History)] = Seq(
    "some times null" -> withNulls(wandering(5)),
    "all times null" -> wandering(5).map(_.map { case (id, _) => (id, None) }),
    "before 1970" -> year(1955),
    "from before to after 1970" -> year(1969),
    "in year 9999" -> year(9999),
    "before 1970, some null" -> withNulls(year(1955)))

  for ((name, history) <- odd) {
    sameAsStock(s"windows, $name", "update", history)(_.groupBy(window($"t", "10 minutes"), $"id").count())

    sameAsStock(s"deduplication, $name", "append", history)(_.dropDuplicates("id", "t"))

    sameAsStock(s"deduplication within the watermark, $name", "append", history)(_.dropDuplicatesWithinWatermark("id"))
  }

  for ((name, history) <- odd if !name.startsWith("all") && !name.startsWith("before"))
    sameAsStock(s"windows, $name", "append", history)(_.groupBy(window($"t", "10 minutes")).count())

  test("a timestamp without time zone is refused in Spark's own words") {
    def refusal: (String, String) = {
      val events = timed(MemoryStream[Event]).withColumn("t", $"t".cast("timestamp_ntz"))
      val refused = intercept[AnalysisException](events.withWatermark("t", Delay).queryExecution.assertAnalyzed())
      (refused.getCondition, refused.getMessageParameters.get("eventName"))
    }
    assert(refusal === stock(refusal))
    assert(refusal._1 === "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE")
  }

  sameAsStock("a timestamp without time zone beside the event time")(
    _.withColumn("local", $"t".cast("timestamp_ntz")).groupBy(window($"t", "10 minutes"), $"local").count())
}
