package org.apache.spark.sql.tidemark.functions

import java.sql.Timestamp
import java.util.UUID

import io.tidemark.functions.{currentWatermark, isLate}

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateSafeProjection
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.WatermarkTest
import org.apache.spark.sql.types.TimestampType

/** `current_watermark` and `is_late` are refused where no watermark could be read. */
class WatermarkExpressionRefusalsSuite extends WatermarkTest {
  import testImplicits._

  test("is_late and current_watermark fail when no watermark has been filled in") {
    val time = Literal.create(at("12:00"), TimestampType)
    for (reading <-
        Seq[WatermarkExpression](IsLate(time, UUID.randomUUID()), CurrentWatermark(Nil, UUID.randomUUID()))) {
      val awaited = reading.withState(WatermarkExpression.Awaited)
      def generated = GenerateSafeProjection.generate(Seq(awaited))
      for (evaluate <- Seq[() => Any](() => awaited.eval(null), () => generated(null)))
        assertRefused("WATERMARK_NOT_READ")(evaluate())
    }
  }

  private def run(df: DataFrame, stream: MemoryStream[(Int, Timestamp)]): Unit = {
    val query = df.writeStream.format("noop").start()
    try {
      stream.addData(1 -> at("12:00"))
      query.processAllAvailable()
    } finally query.stop()
  }

  test("is_late and current_watermark are refused by name where there is no watermark") {
    val (stream, df) = timed("time", "0 seconds")
    val before = stream.toDF().toDF("id", "time")
    assertRefused("NO_WATERMARK", "expression" -> "is_late(time)", "columns" -> "") {
      before.select($"time", isLate($"time")).withWatermark("time", "1 hour")
    }
    val (_, other) = timed("other", "0 seconds", "to")
    val joined = df.join(other, expr("id = to AND time = other"))
    assertRefused("NO_WATERMARK", "expression" -> "current_watermark()", "columns" -> "time, other") {
      joined.select(currentWatermark())
    }
    assertRefused("NO_WATERMARK", "expression" -> "current_watermark(shifted)", "columns" -> "time") {
      run(df.withColumn("shifted", $"time" + expr("INTERVAL 1 HOUR")).select(currentWatermark($"shifted")), stream)
    }
    assertQueryRefused("NO_WATERMARK", "expression" -> "current_watermark('weather')") {
      run(df.select(currentWatermark("weather")), stream)
    }
    assertRefused("WRONG_ARGUMENTS", "function" -> "is_late", "arguments" -> "0")(df.select(expr("is_late()")))
    val error = intercept[AnalysisException](df.select(isLate($"id")))
    assert(error.getCondition === "DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT")
    // Spark has this condition for every function, so only the message says which rule is broken.
    assert(error.getMessageParameters.get("msg").startsWith("is_late takes an event-time column"))
  }

  test("is_late is refused in a query that is left to Spark") {
    val (stream, df) = timed("time", "0 seconds")
    for ((key, value) <-
        Seq("spark.tidemark.enabled" -> "false", "spark.sql.streaming.multipleWatermarkPolicy" -> "max"))
      withSQLConf(key -> value) {
        assertQueryRefused("LEFT_TO_SPARK", "reason" -> s"$key=$value", "need" -> "reads is_late(time)") {
          run(df.select(isLate($"time")), stream)
        }
      }
  }
}
