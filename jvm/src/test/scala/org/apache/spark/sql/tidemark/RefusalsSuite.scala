package org.apache.spark.sql.tidemark

import java.sql.Timestamp
import java.util.UUID

import scala.reflect.ClassTag

import io.tidemark.{BuildInfo, TidemarkConf, TidemarkError, TidemarkException}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.logging.log4j.Level

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{OutputMode, StreamingQueryListener}
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.types.MetadataBuilder

/** What Tidemark will not run, and what it leaves to Spark. */
class RefusalsSuite extends KeyedWatermarkTest {
  import testImplicits._

  private def refusal(code: String, parts: String*): StreamAction =
    ExpectFailure[TidemarkException](error => {
      val refused = error.asInstanceOf[TidemarkException]
      assert(refused.getCondition === s"TIDEMARK.$code")
      for (part <- parts :+ "Fix this by ") assert(refused.getMessage.contains(part))
    })(ClassTag(classOf[TidemarkException]))

  private def report(check: JsonNode => Unit): StreamAction =
    Execute(query => check(new ObjectMapper().readTree(Takeovers.report(query.runId).get.json)))

  /** The column with a key of the user's, before a watermark is put on it. */
  private def keyed(df: DataFrame, column: String, key: String): DataFrame =
    df.withMetadata(column, new MetadataBuilder().putString(EventTimeOptions.KeyMetadata, key).build())

  private def bare(name: String) = {
    val stream = MemoryStream[(Int, Timestamp)]
    (stream, stream.toDF().toDF("id", name))
  }

  private def counted(df: DataFrame, time: String): DataFrame = df.groupBy(window(col(time), "10 minutes")).count()

  test("one key on two columns") {
    val ((left, a), (_, b)) = (bare("ta"), bare("tb"))
    val union = counted(keyed(a, "ta", "orders").withWatermark("ta", "1 minute"), "ta")
      .union(counted(keyed(b, "tb", "orders").withWatermark("tb", "1 minute"), "tb"))
    testStream(union)(AddData(left, 1 -> at("10:00")), refusal("DUPLICATE_KEY", "'orders'", "ta, tb"))
  }

  test("one key on two columns of one name is two watermarks") {
    val ((left, a), (right, b)) = (bare("t"), bare("t"))
    def of(df: DataFrame) = counted(keyed(df, "t", "orders").withWatermark("t", "0 seconds"), "t").select($"count")
    testStream(of(a).union(of(b)))(
      MultiAddData(left, 1 -> at("10:00"))(right, 1 -> at("11:00")),
      ProcessAllAvailable(),
      originsAre("orders" -> Some(millis("10:00")), "orders#1" -> Some(millis("11:00"))))
  }

  test("a union whose inputs have their event time at different positions") {
    val ((left, a), (_, b)) = (timed("ta", "0 seconds"), timed("tb", "0 seconds"))
    val times = a.select($"ta", ($"ta" + expr("INTERVAL 1 HOUR")).as("x")).union(b.select(lit(at("10:00")), $"tb"))
    // Also where nobody uses the other time, so that it is not in the plan of a batch.
    for (df <- Seq(times, counted(times, "ta")))
      testStream(df)(
        AddData(left, 1 -> at("10:00")),
        refusal("UNION_WATERMARK_POSITION", "'ta' at position 0", "input 1", "'tb'"))
  }

  test("an input of a union without any event time is left out, and the report says so") {
    val ((left, a), (right, b)) = (timed("ta", "0 seconds"), bare("tb"))
    testStream(counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count"))(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:01")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 2L)),
      // The plan of the last batch, which had no data, has no union at all: Spark takes the empty input out of it.
      report { json =>
        val note = json.get("notes").get(0)
        assert(note.get("code").asText === "UNION_INPUT_LEFT_OUT")
        assert(note.get("message").asText.contains("Input 1 of the union of 'id', 'ta'"))
      })
  }

  test("a union whose first input has no event time has none, as in Spark, and the report says so") {
    for (enabled <- Seq(true, false)) withSQLConf(TidemarkConf.Enabled.key -> enabled.toString) {
      val ((left, a), (right, b)) = (bare("ta"), timed("tb", "0 seconds"))
      val windows = counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count")
      testStream(windows, OutputMode.Update)(
        MultiAddData(left, 1 -> at("10:00"))(right, 2 -> at("10:01"), 3 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:00", 2L), ("10:30", 1L)),
        // Nothing is late and nothing is evicted.
        AddData(right, 4 -> at("10:02")),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:00", 3L)),
        if (!enabled) ProcessAllAvailable()
        else report { json =>
          val note = json.get("notes").get(0)
          assert(note.get("code").asText === "UNION_INPUT_LEFT_OUT")
          assert(note.get("message").asText.contains("Input 0 of the union of 'id', 'ta'"))
        })
      val refused = intercept[AnalysisException](testStream(windows)())
      assert(refused.getCondition === "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
    }
  }

  /** A join of which neither side is ever closed, and windows behind it. */
  private def unbounded() = {
    val ((left, a), (right, b)) = (timed("ta", "0 seconds", "a"), timed("tb", "0 seconds", "b"))
    val windows = counted(a.join(b, $"a" === $"b"), "ta").select(date_format($"window.start", "HH:mm"), $"count")
    (left, right, windows)
  }

  test("a join side that is never closed: as in Spark, with a note") {
    val (left, right, windows) = unbounded()
    testStream(windows)(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("11:00"))(right, 1 -> at("9:00")),
      ProcessAllAvailable(),
      report { json =>
        val notes = json.get("notes")
        // The right side's time goes nowhere behind the join.
        assert(notes.size === 1)
        assert(notes.get(0).get("code").asText === "UNBOUNDED_JOIN_SIDE")
        assert(notes.get(0).get("message").asText.contains("The left side of the join on a = b"))
      },
      // As in Spark the left side's time waits for the right input, though that closes nothing.
      CheckNewAnswer(),
      AddData(right, 1 -> at("9:30"), 2 -> at("9:30")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(right, 9 -> at("10:30")),
      ProcessAllAvailable(),
      CheckNewAnswer(("10:00", 2L)),
      // Row 1 comes out of the state once more, and is late behind the join: that is what the note is about.
      AddData(right, 1 -> at("10:45")),
      ProcessAllAvailable(),
      MultiAddData(left, 3 -> at("12:00"))(right, 9 -> at("12:00")),
      ProcessAllAvailable(),
      CheckNewAnswer(("11:00", 1L)))
  }

  test("a join side that is never closed: what is behind it waits") {
    withSQLConf(TidemarkConf.UnboundedJoin.key -> "hold") {
      val (left, right, windows) = unbounded()
      testStream(windows)(
        MultiAddData(left, 1 -> at("10:00"), 2 -> at("11:00"))(right, 1 -> at("9:00"), 2 -> at("23:00")),
        ProcessAllAvailable(),
        AddData(left, 3 -> at("23:00")),
        ProcessAllAvailable(),
        CheckNewAnswer(),
        report(json => assert(json.get("notes").get(0).get("code").asText === "UNBOUNDED_JOIN_SIDE")))
    }
  }

  test("a join side that is never closed: refused") {
    withSQLConf(TidemarkConf.UnboundedJoin.key -> "refuse") {
      val (left, _, windows) = unbounded()
      testStream(windows)(
        AddData(left, 1 -> at("10:00")),
        refusal("UNBOUNDED_JOIN_SIDE", "left side", "a = b", TidemarkConf.UnboundedJoin.key))
    }
  }

  private def leftToSpark(setting: String, value: String): StreamAction = report { json =>
    assert(json.get("engine").asText === "spark")
    assert(json.get("reason").asText === s"$setting=$value")
  }

  private val leavesToSpark = Seq(
    SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max",
    SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE.key -> "false")

  for ((setting, value) <- leavesToSpark) {
    test(s"$setting=$value leaves a query to Spark, which says so") {
      withSQLConf(setting -> value) {
        val ((left, a), (right, b)) = (timed("ta", "0 seconds"), timed("tb", "0 seconds"))
        val log = new LogAppender
        withLogAppender(log)(
          testStream(counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count"))(
            MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:15")),
            ProcessAllAvailable(),
            // The greater of both watermarks, or the lesser.
            if (value == "max") CheckNewAnswer(("10:00", 1L), ("10:10", 1L)) else CheckNewAnswer(("10:00", 1L)),
            leftToSpark(setting, value)))
        val said = log.loggingEvents.filter(_.getMessage.getFormattedMessage.contains("left to Spark"))
        assert(said.map(_.getLevel) === Seq(Level.WARN))
        assert(said.head.getMessage.getFormattedMessage.contains(s"$setting=$value"))
      }
    }

    test(s"$setting=$value, and a query is analysed as by Spark") {
      val (_, events) = bare("ta")
      // A second watermark, and a window on the column of the first.
      def twice = {
        val times = events.withColumn("tb", $"ta").withWatermark("ta", "1 minute").withWatermark("tb", "1 minute")
        counted(times, "ta").queryExecution.analyzed.treeString.replaceAll("#\\d+L?|[0-9a-f-]{36}", "#")
      }
      val keyed = twice
      withSQLConf(setting -> value) {
        val ours = twice
        withSQLConf(TidemarkConf.Enabled.key -> "false")(assert(ours === twice))
        assert(ours !== keyed)
      }
    }

    test(s"$setting=$value, and a key that asks for more") {
      withSQLConf(setting -> value) {
        val (stream, events) = bare("t")
        testStream(counted(keyed(events, "t", "orders").withWatermark("t", "1 minute"), "t"))(
          AddData(stream, 1 -> at("10:00")),
          refusal("LEFT_TO_SPARK", "'orders'", s"$setting=$value"))
      }
    }
  }

  test("a query that began with multipleWatermarkPolicy=max is left to Spark for ever: its checkpoint says so") {
    val policy = SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key
    val ((left, a), (right, b)) = (timed("ta", "0 seconds"), timed("tb", "0 seconds"))
    val counts = counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count")
    withTempDir { checkpoint =>
      val start = StartStream(checkpointLocation = checkpoint.getCanonicalPath)
      withSQLConf(policy -> "max")(testStream(counts)(
        start,
        MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:15")),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:00", 1L), ("10:10", 1L))))
      withSQLConf(policy -> "min")(testStream(counts)(
        start,
        AddData(left, 3 -> at("10:50")),
        ProcessAllAvailable(),
        CheckNewAnswer(("10:30", 1L)),
        leftToSpark(policy, "max")))
    }
  }

  test("with Tidemark switched off, Spark runs the query and nobody has a report") {
    withSQLConf(TidemarkConf.Enabled.key -> "false") {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t").select($"count"))(
        AddData(stream, 1 -> at("10:00"), 2 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(1L),
        Execute(query => assert(Takeovers.report(query.runId).isEmpty && Takeovers.get(query.runId).isEmpty)))
    }
  }

  test("a setting that is none of its values") {
    withSQLConf(TidemarkConf.UnboundedJoin.key -> "sometimes") {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t"))(
        AddData(stream, 1 -> at("10:00")),
        refusal("INVALID_SETTING", TidemarkConf.UnboundedJoin.key, "'sometimes'", "spark, hold, refuse"))
    }
    val refused = intercept[TidemarkException] {
      withSQLConf(TidemarkConf.Enabled.key -> "perhaps")(timed("t", "0 seconds")._2.queryExecution.assertAnalyzed())
    }
    assert(refused.getCondition === "TIDEMARK.INVALID_SETTING")
  }

  test("a query without a watermark has nothing to do with the settings") {
    for (setting <- TidemarkConf.all) withSQLConf(setting.key -> "sometimes") {
      val (stream, events) = bare("t")
      testStream(events.dropDuplicates("id").select($"id"))(
        AddData(stream, 1 -> at("10:00"), 1 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(1))
    }
  }

  test("a query that could not be taken over fails when it is planned") {
    val failure = new TidemarkException(TidemarkError.takeoverFailed("q", "it was not to be"))
    afterTakeover(run => Takeovers.begun(run, Left(failure))) {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t"))(
        AddData(stream, 1 -> at("10:00")),
        refusal("TAKEOVER_FAILED", "it was not to be"))
    }
  }

  test("a query whose start nobody has seen fails when it is planned") {
    afterTakeover(Takeovers.finished) {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t"))(AddData(stream, 1 -> at("10:00")), refusal("TAKEOVER_FAILED", "was not seen"))
    }
  }

  /** Does something to each run that starts in `body`, after Tidemark's own listener. */
  private def afterTakeover(change: UUID => Unit)(body: => Unit): Unit = {
    if (!spark.streams.listListeners().exists(_.isInstanceOf[TakeoverListener]))
      spark.streams.addListener(new TakeoverListener(spark))
    val listener = new StreamingQueryListener {
      override def onQueryStarted(event: QueryStartedEvent): Unit = change(event.runId)
      override def onQueryProgress(event: QueryProgressEvent): Unit = ()
      override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
    }
    spark.streams.addListener(listener)
    try body
    finally spark.streams.removeListener(listener)
  }

  test("a jar runs on its own Spark minor only, and on Java 17 or later") {
    val minor = BuildInfo.sparkMinor
    assert(Compatibility.problem(s"$minor.7", 17) === None)
    assert(Compatibility.problem(s"$minor.0-SNAPSHOT", 21) === None)
    for (other <- Seq("4.0.4", "3.5.1", "5.2.0", s"${minor}1.0"))
      assert(Compatibility.problem(other, 17).map(_.code) === Some("SPARK_VERSION_MISMATCH"))
    assert(Compatibility.problem(s"$minor.0", 11).map(_.code) === Some("JAVA_TOO_OLD"))
  }
}
