package org.apache.spark.sql.tidemark.status

import java.sql.Timestamp
import java.time.Instant

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.core.memory.ReasonText
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.tidemark.support.ReasonTest

/** What the sentence says when rows of a running query are lost, or will be. */
class LostRowsReasonSuite extends ReasonTest {
  import testImplicits._

  test("a batch of late rows is named, until a batch has a row that is on time") {
    val (stream, df) = bare("time")
    testStream(counted(withWatermark(df, "time", "0 seconds", keyed("orders")), "time"))(
      StartStream(),
      AddData(stream, (1, at("12:00"))),
      ProcessAllAvailable(),
      AddData(stream, (1, at("9:00")), (2, at("9:01")), (3, at("11:05"))),
      ProcessAllAvailable(),
      code("ALL_LATE"),
      kept { reason =>
        assert(reason.code === "ALL_LATE")
        assert(reason.heldBy.contains("orders"))
        assert(reason.sentence ===
          "All 3 rows of the last batch were late at aggregation #0, by up to 2 hours 50 minutes, and were dropped.")
        assert(reason.isTrouble)
      },
      AddData(stream, (1, at("9:00")), (2, at("12:01"))),
      ProcessAllAvailable(),
      code("FLOWING"))
  }

  test("late rows of one side of a join are not those of a later batch with rows of the other side") {
    val (left, leftRows) = bare("at")
    val (right, rightRows) = bare("paid")
    val joined = withWatermark(leftRows, "at", "0 seconds", keyed("orders")).as("l").join(
      withWatermark(rightRows, "paid", "0 seconds", keyed("payments")).as("r"),
      expr("l.id = r.id AND paid BETWEEN at AND at + INTERVAL 1 HOUR"),
      "left_outer")
    testStream(joined)(
      StartStream(),
      AddData(left, (1, at("12:00"))),
      AddData(right, (2, at("12:00"))),
      ProcessAllAvailable(),
      AddData(left, (3, at("9:00"))),
      ProcessAllAvailable(),
      code("ALL_LATE"),
      AddData(right, (4, at("12:10"))),
      ProcessAllAvailable(),
      why(found => assert(found.get("code").asText !== "ALL_LATE")))
  }

  test("a row of the year 2100 is the reason why all others are late, and no reason if max_ahead is set") {
    val future = Timestamp.from(Instant.parse("2100-01-01T00:00:00Z"))
    def sees(maxAhead: Option[String])(expected: String, result: Boolean)(check: ReasonText => Unit): Unit = {
      val (stream, df) = bare("time")
      val marked = withWatermark(df, "time", "10 minutes", WatermarkOptions(maxAhead = maxAhead))
      testStream(counted(marked, "time"))(
        StartStream(),
        AddData(stream, (1, at("10:05")), (2, future)),
        ProcessAllAvailable(),
        AddData(stream, (1, at("10:06")), (1, at("10:07"))),
        ProcessAllAvailable(),
        why { why =>
          assert(why.get("code").asText === expected)
          assert(why.get("is_trouble").asBoolean === result)
        },
        kept { reason =>
          assert(reason.code === expected)
          assert(reason.heldBy.contains("time") === result)
          check(reason)
        })
    }
    sees(None)("FAR_AHEAD", result = true) { reason =>
      assert(
        reason.sentence.startsWith("Everything is late: all 2 rows of the last batch were dropped at aggregation #0. " +
          "An event time of \"time\" is 2100-01-01T00:00:00Z, "))
      assert(reason.sentence.endsWith(" ahead of the wall clock, and the watermark went with it."))
    }
    sees(Some("1 hour"))("FLOWING", result = false) { reason =>
      assert(reason.sentence.startsWith("aggregation #0 has emitted what was due up to 2024-03-01T09:57:00Z, "))
    }
  }

  test("a split of the year 2100 is named before it moves the watermark") {
    val future = Timestamp.from(Instant.parse("2100-01-01T00:00:00Z"))
    val (stream, df) = bare("time")
    val split = withWatermark(df, "time", "0 seconds", WatermarkOptions(Some("orders"), SplitBy($"id")))
    testStream(counted(split, "time"))(
      StartStream(),
      AddData(stream, (1, at("10:05")), (2, future)),
      ProcessAllAvailable(),
      code("CLOCK_FAR_AHEAD"),
      kept { reason =>
        assert(reason.code === "CLOCK_FAR_AHEAD")
        assert(reason.heldBy.contains("orders"))
        assert(reason.sentence.startsWith(
          "A wrong event time has moved split \"2\" of \"orders\" to 2100-01-01T00:00:00Z, "))
        assert(
          reason.sentence.endsWith(" ahead of the wall clock. The watermark of aggregation #0 follows as soon as " +
            "nothing else holds it, and then every row is late."))
        assert(reason.fix.exists(_.contains("tidemark.correct(checkpoint, key=\"orders\"")))
      })
  }
}
