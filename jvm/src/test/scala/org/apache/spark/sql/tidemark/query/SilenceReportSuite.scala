package org.apache.spark.sql.tidemark.query

import scala.jdk.CollectionConverters._

import io.tidemark.SplitBy
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.logging.log4j.Level

import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.status.SplitNews
import org.apache.spark.sql.tidemark.support.SilenceTest

/** What log and report say of splits that are silent. */
class SilenceReportSuite extends SilenceTest {
  import testImplicits._

  test("the log says when a split becomes idle, and when it comes back behind the watermark") {
    val (stream, df) = readings
    val marked = withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))
    val appender = new LogAppender("splits that become idle and return")
    withLogAppender(appender, Seq(classOf[SplitNews].getName)) {
      run(counted(marked))(
        more(stream, "a" -> "10:00", "b" -> "10:05") ++
          minutes(stream, 11 to 22) ++
          // That it is idle is not news after a restart.
          Seq(StopStream, StartStream()) ++ more(stream, "a" -> "10:34") ++
          // A minute later the next line may come.
          Seq(AdvanceManualClock(60000)) ++ more(stream, "a" -> "10:35") ++ more(stream, "b" -> "10:06"): _*)
    }
    val events = appender.loggingEvents.filter(_.getMessage.getFormattedMessage.contains("of input \"time\""))
    val lines = events.map(_.getMessage.getFormattedMessage)
    assert(events.map(_.getLevel) === Seq(Level.WARN, Level.WARN), lines)
    assert(lines.head.endsWith(
      "split \"b\" (clock 2024-03-01T10:05:00Z) of input \"time\" became idle, and the watermark advances " +
        "without it. 1 of 2 splits is idle."))
    assert(lines(
      1).endsWith("split \"b\" of input \"time\" is back at 2024-03-01T10:06:00Z, 29 minutes behind the watermark. " +
      "Its rows before that are late."))
  }

  test("after downtime the report tells when splits really had their last rows, and which never had any") {
    withTempDir { checkpoint =>
      val (stream, df) = readings
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      def splitsAre(check: Map[String, JsonNode] => Unit) = Execute { query =>
        val json = new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get)
        val splits = json.get("inputs").get(0).get("splits").get("worst").elements.asScala
        check(splits.map(split => split.get("name").asText -> split).toMap)
      }
      val splitBy = SplitBy(Seq($"device"), Seq(Seq(Some("never"))))
      run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = splitBy))))(
        Seq(start) ++ more(stream, "a" -> "10:00", "b" -> "10:05") ++
          Seq(second, StopStream, Execute(_ => moveWithin(3600000)), start) ++
          more(stream, "a" -> "10:30") ++ Seq(splitsAre { splits =>
            assert(splits("b").get("last_active_ms").asLong === 1000)
            assert(splits("b").get("silent_ms").asLong < 10000)
            assert(splits("b").get("silent_of_ms").asLong >= 3600000)
            assert(splits("a").get("last_active_ms").asLong >= 3600000)
            assert(splits("a").get("silent_ms").asLong === 0)
            assert(splits("never").get("last_active_ms").isNull)
            assert(splits("never").get("state").asText === "without_rows")
            assert(splits("never").get("is_expected").asBoolean)
          }): _*)
    }
  }

  // With the default the clocks of a silent input stand, and so does the state of its splits.
  for ((rule, expected) <- Seq("hold" -> (2 -> 0), "rise" -> (0 -> 2)))
    test(s"the report never shows an idle input beside one idle split of two, with when_all=$rule") {
      val (stream, df) = readings
      val options = tenSeconds.copy(splitBy = SplitBy($"device"), idle = tenSeconds.idle.copy(whenAll = Some(rule)))
      var reports = Seq.empty[(Boolean, Int, Int)]
      val look = Execute { query =>
        val origin =
          new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get).get("inputs").get(0)
        val splits = origin.get("splits")
        reports :+= ((origin.get("idle").asBoolean, splits.get("active").asInt, splits.get("idle").asInt))
      }
      run(counted(withWatermark(df, "time", "0 seconds", options)))(
        more(stream, "a" -> "10:00") ++ more(stream, "b" -> "10:05") ++ (1 to 25).flatMap(_ => Seq(second, look)): _*)
      assert(reports.head === ((false, 2, 0)))
      assert(reports.filter(_._1).map { case (_, active, idle) => (active, idle) }.distinct === Seq(expected))
    }
}
