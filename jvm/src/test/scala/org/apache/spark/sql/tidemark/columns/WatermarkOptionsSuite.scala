package org.apache.spark.sql.tidemark.columns

import io.tidemark.{Idle, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.core.memory.{OriginRules, WhenIdle}
import io.tidemark.core.splits.{OnReturn, SplitNameTable}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.tidemark.exec.SplitClocksExec
import org.apache.spark.sql.tidemark.query.{QueryLife, RunningQueries}
import org.apache.spark.sql.tidemark.support.SilenceTest

/** What a watermark is told, by options of its own or by the session's settings. */
class WatermarkOptionsSuite extends SilenceTest {
  import testImplicits._

  private val allOptions = WatermarkOptions(
    splitBy = SplitBy(Seq($"device"), expected = Seq(Seq(Some("c")), Seq(None)), forgetAfter = Some("30 days")),
    idle = Idle(
      after = Some("10 seconds"),
      onReturn = Some("catch_up"),
      whenAll = Some("advance"),
      atJoin = Some("follow")),
    maxAhead = Some("1 day"))

  private val allSettings = Seq(
    "spark.tidemark.idle.after" -> "10 seconds",
    "spark.tidemark.idle.onReturn" -> "catch_up",
    "spark.tidemark.idle.whenAll" -> "advance",
    "spark.tidemark.maxAhead" -> "1 day",
    "spark.tidemark.idle.atJoin" -> "follow")

  private val allRules = OriginRules(
    0L,
    idleAfterMillis = Some(10000L),
    onReturn = OnReturn.CatchUp,
    whenIdle = WhenIdle.Advance,
    maxAheadMillis = Some(86400000L),
    followsInJoins = true)

  test(
    "a query keeps its splits if it is defined while Tidemark is disabled, and is stock Spark's if it is started then") {
    def defined(enabled: String) = {
      val (stream, df) = readings
      var query: DataFrame = df
      withSQLConf(TidemarkConf.Enabled.key -> enabled) {
        query = counted(withWatermark(df, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy($"device"))))
      }
      stream -> query
    }
    def clocks(query: StreamExecution) = query.lastExecution.executedPlan.collect { case node: SplitClocksExec => node }
    for (enabled <- Seq("false", "true")) {
      val (stream, query) = defined(enabled)
      testStream(query)(
        AddData(stream, ("a", at("10:05")), ("b", at("10:01")), ("a", at("10:15"))),
        ProcessAllAvailable(),
        CheckAnswer(),
        Execute { query =>
          assert(clocks(query).size === 1)
          assert(watermarksOf(query).view.get.snapshot.entry.origins.values.map(_.splits.size).toSeq === Seq(2))
        },
        AddData(stream, ("b", at("10:10"))),
        CheckAnswer(Row("10:00", 2L)))
      val (other, same) = defined(enabled)
      withSQLConf(TidemarkConf.Enabled.key -> "false") {
        testStream(same)(
          AddData(other, ("a", at("10:05")), ("b", at("10:01")), ("a", at("10:15"))),
          CheckAnswer(Row("10:00", 2L)),
          Execute(query => assert(clocks(query).isEmpty)))
      }
    }
  }

  test("every option applies to its watermark, and every setting applies to watermarks without options") {
    def has(df: DataFrame)(check: OriginRules => Unit): Unit =
      run(counted(df))(
        second,
        Execute { query =>
          RunningQueries.get(query.runId).map(_.life) match {
            // The query has no rows, and so no batch.
            case Some(QueryLife.Started(start, _)) => check(start.origins.get.all.head.rules)
            case other => fail(s"the query has not just started: $other")
          }
        })
    has(withWatermark(readings._2, "time", "0 seconds", allOptions)) { rules =>
      assert(rules.copy(splitBy = Nil, expected = Nil, forgetAfterMillis = None) === allRules)
      assert(rules.forgetAfterMillis === Some(30 * 86400000L))
      assert(rules.expected.map(SplitNameTable.decode(_)) === allOptions.splitBy.expected)
      assert(rules.splitBy.size === 1)
    }
    withSQLConf(allSettings: _*) {
      has(readings._2.withWatermark("time", "0 seconds"))(rules => assert(rules === allRules))
    }
  }

  test("options and settings accept Spark's intervals as lengths of time, and a month has 31 days") {
    def idleAfter(text: String): Option[Option[Long]] = {
      val marked = withWatermark(readings._2, "time", "0 seconds", WatermarkOptions(idle = Idle(text)))
      marked.queryExecution.analyzed.collectFirst { case origin: EventTimeWatermark =>
        EventTimeOptions.of(origin).idleAfterMillis
      }.flatten
    }
    val oneMonth = Seq("1 month", "INTERVAL '31' DAY", " 4 weeks  72 Hours ", "32 days -1 day", "2678400.0004 seconds")
    for (text <- oneMonth) withClue(text) {
      assert(idleAfter(text) === Some(Some(2678400000L)))
      assert(TidemarkConf.IdleAfter.read(text) === Some(Some(2678400000L)))
    }
    for (text <- Seq("5 min", "1m", "1minute", "10", "soon", "", "0 days", "-1 day", "9999999999 days"))
      assert(withClue(text)(TidemarkConf.IdleAfter.read(text)) === None)
  }

  test("options of the SQL function are lengths of time as text, too") {
    def parsed(json: String): EventTimeOptions = EventTimeOptions.parse(json)
    assert(parsed("""{"idleAfter": "1 day", "maxAhead": "none"}""") ===
      EventTimeOptions.none.copy(idleAfterMillis = Some(Some(86400000L)), maxAheadMillis = Some(None)))
    assert(NoteOptions.parse("""{"to": true, "less": "1 hour"}""").lessMillis === 3600000L)
    for ((option, value, json) <- Seq(
        ("idle_after", "soon", """{"idleAfter": "soon"}"""),
        ("max_ahead", "0 seconds", """{"maxAhead": "0 seconds"}""")))
      assertRefused("INVALID_OPTION", "option" -> option, "value" -> value)(parsed(json))
    assertRefused("INVALID_EVENT_TIME", "reason" -> "has the option 'idleAfter', which is not text")(
      parsed("""{"idleAfter": 1}"""))
    for ((code, less) <- Seq(
        "INVALID_OPTION" -> "\"soon\"",
        "INVALID_OPTION" -> "\"none\"",
        "INVALID_NOTE_TIME" -> "1"))
      withClue(less)(assertRefused(code)(NoteOptions.parse(s"""{"to": true, "less": $less}""")))
  }

  test("an option with an invalid value is refused by name") {
    val df = readings._2
    val device = WatermarkOptions(splitBy = SplitBy($"device"))
    for ((option, value, options) <- Seq(
        ("idle_after", "0 seconds", device.copy(idle = Idle("0 seconds"))),
        ("idle_after", "-1 second", device.copy(idle = Idle("-1 second"))),
        ("idle_after", "5 min", device.copy(idle = Idle("5 min"))),
        ("max_ahead", "soon", device.copy(maxAhead = Some("soon"))),
        ("on_return", "keep", device.copy(idle = Idle(onReturn = Some("keep")))),
        ("when_all", "go", device.copy(idle = Idle(whenAll = Some("go")))),
        ("at_join", "", device.copy(idle = Idle(atJoin = Some(""))))))
      assertRefused("INVALID_OPTION", "option" -> option, "value" -> value) {
        withWatermark(df, "time", "0 seconds", options)
      }
    val tooWide = WatermarkOptions(splitBy = SplitBy(Seq($"device"), Seq(Seq(Some("a"), Some("b")))))
    assertRefused("INVALID_SPLITS", "values" -> "2", "expressions" -> "1") {
      withWatermark(df, "time", "0 seconds", tooWide)
    }
  }
}
