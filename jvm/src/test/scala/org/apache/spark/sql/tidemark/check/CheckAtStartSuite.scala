package org.apache.spark.sql.tidemark.check

import scala.jdk.CollectionConverters._

import io.tidemark.{TidemarkConf, TidemarkException}

import org.apache.logging.log4j.Level

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** What `spark.tidemark.check` does when a query starts. */
class CheckAtStartSuite extends RefusalsTest {
  import testImplicits._

  override protected def sparkConf: SparkConf = super.sparkConf.remove(TidemarkConf.CheckAtStart.key)

  private def deduplicated(events: DataFrame): DataFrame = events.dropDuplicates("id").select($"id")

  /** The lines of the log about findings. */
  private def logged(df: DataFrame)(actions: StreamAction*): Seq[String] = {
    val log = new LogAppender
    withLogAppender(log)(testStream(df)(actions: _*))
    log.loggingEvents.toSeq
      .filter(event => event.getLoggerName.endsWith(".check.CheckAtStart"))
      .map { event =>
        assert(event.getLevel === Level.WARN)
        event.getMessage.getFormattedMessage
      }
  }

  /** The query ends with one finding, which has this code. */
  private def refusedFor(code: String): StreamAction =
    ExpectFailure[TidemarkException] { error =>
      assertRefusal(error, "PLAN_REFUSED")
      val codes = """\[TIDEMARK\.(\w+)\]""".r.findAllMatchIn(refusalIn(error).error.parameters("findings"))
      assert(codes.map(_.group(1)).toSeq === Seq(code))
    }

  private def hintsAre(codes: String*): StreamAction =
    report(all => assert(all.get("hints").asScala.map(_.get("code").asText).toSeq === codes))

  test("a query whose plan has a warning logs it once, has it as a hint in its report, and runs") {
    val (stream, events) = timed("t", "10 minutes")
    val lines = logged(deduplicated(events))(
      AddData(stream, 1 -> at("10:00")),
      ProcessAllAvailable(),
      hintsAre("DEDUP_FOREVER"),
      AddData(stream, 1 -> at("10:10"), 2 -> at("10:10")),
      ProcessAllAvailable(),
      CheckAnswer(1, 2))
    assert(lines.size === 1)
    assert(lines.head.contains("[TIDEMARK.DEDUP_FOREVER]") && lines.head.contains("Fix this by"))
  }

  test("a sound query logs nothing, and neither does what is for information") {
    val ((left, a), (_, b)) = (timed("ta", "0 seconds"), timed("tb", "0 seconds"))
    val lines =
      logged(counted(a.union(b), "ta").select($"count"))(AddData(left, 1 -> at("10:00")), ProcessAllAvailable())
    assert(lines === Nil)
  }

  test("refuse stops a query before its first batch, with all findings, and lets a sound one run") {
    withSQLConf(TidemarkConf.CheckAtStart.key -> "refuse") {
      val (stream, events) = timed("t", "10 minutes")
      testStream(deduplicated(events))(
        AddData(stream, 1 -> at("10:00")),
        refusedFor("DEDUP_FOREVER"))
      testStream(counted(events, "t").select($"count"))(
        AddData(stream, 2 -> at("10:00"), 3 -> at("11:00")),
        ProcessAllAvailable(),
        CheckAnswer(2L))
    }
  }

  test("refuse also stops a query for what the engine only hints at otherwise") {
    withSQLConf(TidemarkConf.CheckAtStart.key -> "refuse") {
      val ((stream, a), (_, b)) = (timed("ta", "0 seconds", "a"), timed("tb", "0 seconds", "b"))
      testStream(a.join(b, expr("a = b AND tb >= ta")))(
        AddData(stream, 1 -> at("10:00")),
        refusedFor("UNBOUNDED_JOIN_SIDE"))
    }
  }

  test("off says nothing") {
    withSQLConf(TidemarkConf.CheckAtStart.key -> "off") {
      val (stream, events) = timed("t", "10 minutes")
      val rows = AddData(stream, 1 -> at("10:00"))
      assert(logged(deduplicated(events))(rows, ProcessAllAvailable(), hintsAre()) === Nil)
    }
  }
}
