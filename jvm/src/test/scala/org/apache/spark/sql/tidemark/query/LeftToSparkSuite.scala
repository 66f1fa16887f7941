package org.apache.spark.sql.tidemark.query

import java.util.UUID

import scala.jdk.CollectionConverters._

import io.tidemark.{BuildInfo, TidemarkConf, TidemarkError, TidemarkException}

import org.apache.logging.log4j.Level

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.session.Compatibility
import org.apache.spark.sql.tidemark.support.RefusalsTest

/** Queries that Tidemark leaves to stock Spark, and queries that must fail instead. */
class LeftToSparkSuite extends RefusalsTest {
  import testImplicits._

  private def leftToSpark(setting: String, value: String): StreamAction = report { json =>
    assert(json.get("engine").asText === "spark")
    assert(json.get("reason").asText === s"$setting=$value")
  }

  private val leavesToSpark = Seq(
    SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max",
    SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE.key -> "false")

  for ((setting, value) <- leavesToSpark) {
    test(s"$setting=$value leaves a query to stock Spark and logs a warning") {
      withSQLConf(setting -> value) {
        val ((left, a), (right, b)) = (timed("ta", "0 seconds"), timed("tb", "0 seconds"))
        val log = new LogAppender
        withLogAppender(log)(
          testStream(counted(a.union(b), "ta").select(date_format($"window.start", "HH:mm"), $"count"))(
            MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:15")),
            ProcessAllAvailable(),
            // Results depend on the greater of both watermarks, or on the lesser.
            if (value == "max") CheckNewAnswer(("10:00", 1L), ("10:10", 1L)) else CheckNewAnswer(("10:00", 1L)),
            leftToSpark(setting, value)))
        val warnings = log.loggingEvents.filter(_.getMessage.getFormattedMessage.contains("left to Spark"))
        assert(warnings.map(_.getLevel) === Seq(Level.WARN))
        assert(warnings.head.getMessage.getFormattedMessage.contains(s"$setting=$value"))
      }
    }

    test(s"$setting=$value makes the analysis of a query the same as on stock Spark") {
      val (_, events) = bare("ta")
      // The query has a second watermark, and a window on the column of the first.
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

    test(s"$setting=$value rejects a watermark with a key") {
      withSQLConf(setting -> value) {
        val (stream, events) = bare("t")
        testStream(counted(withKey(events, "t", "orders").withWatermark("t", "1 minute"), "t"))(
          AddData(stream, 1 -> at("10:00")),
          expectRefusal(
            "LEFT_TO_SPARK",
            "reason" -> s"$setting=$value",
            "need" -> "sets the watermark key 'orders'"))
      }
    }
  }

  test("a query with asynchronous progress tracking is left to stock Spark, or refused if its watermark has a key") {
    withTempDir { checkpoint =>
      def start(df: DataFrame) = df.writeStream
        .format("noop")
        .option("asyncProgressTrackingEnabled", "true")
        .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
        .option("checkpointLocation", checkpoint.getCanonicalPath)
        .start()
      val (stream, events) = bare("t")
      stream.addData(1 -> at("10:00"))
      val plain = start(events.withWatermark("t", "1 minute"))
      try {
        plain.processAllAvailable()
        val life = RunningQueries.get(plain.runId).get.life
        assert(life === QueryLife.LeftToSpark("asynchronous progress tracking"))
        assert(!checkpoint.list.contains("tidemark"))
      } finally plain.stop()
      stream.addData(2 -> at("10:10"))
      val asking = start(withKey(events, "t", "orders").withWatermark("t", "1 minute"))
      assertQueryRefused(
        "LEFT_TO_SPARK",
        "reason" -> "asynchronous progress tracking",
        "need" -> "sets the watermark key 'orders'")(asking.processAllAvailable())
    }
  }

  test("a query that began with multipleWatermarkPolicy=max is left to stock Spark after a restart with min") {
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

  test("stock Spark runs a query if Tidemark is disabled, and its report says so") {
    withSQLConf(TidemarkConf.Enabled.key -> "false") {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t").select($"count"))(
        AddData(stream, 1 -> at("10:00"), 2 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(1L),
        Execute { query =>
          assert(RunningQueries.get(query.runId).isEmpty)
          val report = RunningQueries.report(query.runId, Report.json).get
          assert(report.contains("Watermarks are Spark's own here: spark.tidemark.enabled=false."))
        })
    }
  }

  test("a setting with an unknown value is rejected") {
    withSQLConf(TidemarkConf.UnboundedJoin.key -> "sometimes") {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t"))(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal(
          "INVALID_SETTING",
          "setting" -> TidemarkConf.UnboundedJoin.key,
          "value" -> "sometimes",
          "allowed" -> "spark, hold, refuse"))
    }
    assertRefused("INVALID_SETTING", "setting" -> TidemarkConf.Enabled.key, "value" -> "perhaps") {
      withSQLConf(TidemarkConf.Enabled.key -> "perhaps")(timed("t", "0 seconds")._2.queryExecution.assertAnalyzed())
    }
  }

  test("a query without a watermark ignores invalid settings of Tidemark") {
    for (setting <- TidemarkConf.all) withSQLConf(setting.key -> "sometimes") {
      val (stream, events) = bare("t")
      testStream(events.dropDuplicates("id").select($"id"))(
        AddData(stream, 1 -> at("10:00"), 1 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(1))
    }
  }

  test("a query that Tidemark could not take over fails when it is planned") {
    val failure = new TidemarkException(TidemarkError.TakeoverFailed("q", "it was not to be"))
    def fail(run: UUID) = spark.sharedState.activeStreamingQueries.values.asScala.foreach {
      case query: MicroBatchExecution if query.runId == run =>
        RunningQueries.begun(Takeover.failed(query, failure), Report.json)
      case _ =>
    }
    afterTakeover(fail) {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t"))(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal("TAKEOVER_FAILED", "query" -> "q", "reason" -> "it was not to be"))
    }
  }

  test("a query whose start Tidemark did not see fails when it is planned") {
    afterTakeover(RunningQueries.finished(_, Report.json)) {
      val (stream, events) = timed("t", "0 seconds")
      testStream(counted(events, "t"))(
        AddData(stream, 1 -> at("10:00")),
        expectRefusal("TAKEOVER_FAILED", "reason" -> "the session's listener did not see it start"))
    }
  }

  /** Applies `change` to each run that starts in `body`, after Tidemark's own listener. */
  private def afterTakeover(change: UUID => Unit)(body: => Unit): Unit = {
    if (!spark.streams.listListeners().exists(_.isInstanceOf[TakeoverListener]))
      spark.streams.addListener(new TakeoverListener(spark, Report.json))
    val listener = new StreamingQueryListener {
      override def onQueryStarted(event: QueryStartedEvent): Unit = change(event.runId)
      override def onQueryProgress(event: QueryProgressEvent): Unit = ()
      override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
    }
    spark.streams.addListener(listener)
    try body
    finally spark.streams.removeListener(listener)
  }

  test("a jar runs only on its own Spark minor version, and on Java 17 or later") {
    val minor = BuildInfo.sparkMinor
    assert(Compatibility.problem(s"$minor.7", 17) === None)
    assert(Compatibility.problem(s"$minor.0-SNAPSHOT", 21) === None)
    for (other <- Seq("4.0.4", "3.5.1", "5.2.0", s"${minor}1.0"))
      assert(Compatibility.problem(other, 17).map(_.code) === Some("SPARK_VERSION_MISMATCH"))
    assert(Compatibility.problem(s"$minor.0", 11).map(_.code) === Some("JAVA_TOO_OLD"))
  }
}
