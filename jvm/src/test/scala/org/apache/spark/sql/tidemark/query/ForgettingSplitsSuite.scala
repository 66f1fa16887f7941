package org.apache.spark.sql.tidemark.query

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.tidemark.status.SplitNews
import org.apache.spark.sql.tidemark.support.SilenceTest

/** Splits that were silent for long leave the query, and are new when they return. */
class ForgettingSplitsSuite extends SilenceTest {
  import testImplicits._

  private def forgetting(after: String, idle: Idle = Idle("10 seconds")) =
    WatermarkOptions(splitBy = SplitBy(Seq($"device"), forgetAfter = Some(after)), idle = idle)

  private def splitsAre(names: String*) = Execute { query =>
    val splits = watermarksOf(query).view.get.snapshot.entry.origins.values.head.splits
    assert((0 until splits.size).map(splits.name(_).head.get).toSet === names.toSet)
  }

  test("a split that was silent for forget_after leaves entry and report, and is new when it returns") {
    val (stream, df) = readings
    val log = new LogAppender("splits that return")
    withLogAppender(log, Seq(classOf[SplitNews].getName)) {
      run(counted(withWatermark(df, "time", "0 seconds", forgetting("20 seconds"))))(
        more(stream, "a" -> "10:00", "b" -> "10:05") ++ minutes(stream, 11 to 29) ++ Seq(splitsAre("a", "b")) ++
          // A later line of the log may come.
          Seq(AdvanceManualClock(60000)) ++ minutes(stream, 30 to 35) ++ Seq(splitsAre("a")) ++
          more(stream, "b" -> "10:36") ++
          Seq(splitsAre("a", "b"), second, CheckNewAnswer(("10:00", 2L), ("10:10", 9L), ("10:20", 10L))): _*)
    }
    assert(log.loggingEvents.count(_.getMessage.getFormattedMessage.contains("is back")) === 0)
  }

  private def runOnce(options: WatermarkOptions): Unit = {
    val (stream, df) = readings
    val query = counted(withWatermark(df, "time", "0 seconds", options)).writeStream.format("noop").start()
    try {
      stream.addData("a" -> at("10:00"))
      query.processAllAvailable()
    } finally query.stop()
  }

  test("forget_after without idle_after, or shorter than it, is refused") {
    for (idle <- Seq(Idle(), Idle("1 minute")))
      assertQueryRefused("INVALID_OPTION", "option" -> "forget_after", "value" -> "20000 ms") {
        runOnce(forgetting("20 seconds", idle))
      }
    val options = WatermarkOptions(splitBy = SplitBy(forgetAfter = Some("1 day")))
    assertRefused(
      "INVALID_EVENT_TIME",
      "reason" -> "has the option 'forgetAfter', but no expressions to split by") {
      withWatermark(readings._2, "time", "0 seconds", options)
    }
  }
}
