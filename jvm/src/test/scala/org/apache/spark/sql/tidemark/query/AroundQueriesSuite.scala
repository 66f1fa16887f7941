package org.apache.spark.sql.tidemark.query

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.SimpleMode
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamingQueryWrapper}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.columns.OperatorInput
import org.apache.spark.sql.tidemark.support.TwoStreams

/** Other work in a session with Tidemark: queries in foreachBatch, other sessions, `explain`, and SQL functions. */
class AroundQueriesSuite extends TwoStreams {
  import testImplicits._

  private def start(query: DataFrame, checkpoint: java.io.File)(write: (Dataset[Row], Long) => Unit): StreamingQuery =
    query.writeStream.option("checkpointLocation", checkpoint.getCanonicalPath).foreachBatch(write).start()

  private val readAll: (Dataset[Row], Long) => Unit = (batch, _) => { batch.collect(); () }

  test("Tidemark does not change queries inside foreachBatch") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val seen = new ConcurrentLinkedQueue[String]
      val query = start(outerJoinAndCounts(inputs.a, inputs.b), checkpoint) { (batch, id) =>
        val sums = batch.groupBy($"of").agg(sum("count")).collect().map(_.toString).toSeq
        val other =
          spark.range(20).groupBy(($"id" % 2).as("m")).count().join(spark.range(2).toDF("n"), $"n" === $"m", "left")
        assert(other.count() === 2)
        // The plan of another streaming query, made on this query's thread.
        assert(explained(outerJoinAndCounts(inputs.a, inputs.b)).contains("StreamingSymmetricHashJoin"))
        sums.foreach(sum => seen.add(s"$id $sum"))
      }
      try {
        inputs.step(1 -> "10:00", 2 -> "10:02", 3 -> "10:50")(1 -> "10:05")()
        query.processAllAvailable()
        inputs.step()(9 -> "10:40")()
        query.processAllAvailable()
        assert(seen.asScala.map(_.split(' ').last).toSeq === Seq("[ta,2]"))
      } finally query.stop()
    }
  }

  test("a setting of Spark's that takes Tidemark's rules away is refused by its name") {
    val rule = "org.apache.spark.sql.tidemark.optimizer.InsertOperatorInputs"
    withSQLConf(SQLConf.OPTIMIZER_EXCLUDED_RULES.key -> s"a.b.C,$rule")(withTempDir { checkpoint =>
      val inputs = new Inputs
      val query = start(outerJoinAndCounts(inputs.a, inputs.b), checkpoint)(readAll)
      inputs.step(1 -> "10:00")()()
      val refused = refusalOf(query.processAllAvailable())
      assertRefusal(
        refused,
        "INVALID_SETTING",
        "setting" -> SQLConf.OPTIMIZER_EXCLUDED_RULES.key,
        "value" -> s"a.b.C,$rule")
    })
  }

  private def explained(df: DataFrame): String = df.queryExecution.explainString(SimpleMode)

  test("the settings of a new session decide whether Tidemark runs its queries") {
    val other = spark.newSession()
    val stream = MemoryStream[(Int, java.sql.Timestamp)](other)
    def query =
      stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds").groupBy(window(col("t"), "10 minutes")).count()
    for (enabled <- Seq(true, false)) withTempDir { checkpoint =>
      other.conf.set("spark.tidemark.enabled", enabled.toString)
      val running = start(query, checkpoint)(readAll)
      try {
        stream.addData(1 -> at("10:00"))
        running.processAllAvailable()
        assert(RunningQueries.get(running.runId).nonEmpty === enabled)
        assert(spark.streams.get(running.id) === null)
      } finally running.stop()
    }
  }

  for ((how, settings) <- Seq(
      "its own watermarks" -> Nil,
      "Spark's watermark if Tidemark is disabled in its session" -> Seq("spark.tidemark.enabled" -> "false"),
      "Spark's watermark if multipleWatermarkPolicy is max" ->
        Seq("spark.sql.streaming.multipleWatermarkPolicy" -> "max")))
    test(s"a streaming query that starts in foreachBatch uses $how") {
      val (stream, events) = timed("t", "0 seconds")
      var seen = Seq.empty[Row]
      withTempDir { checkpoint =>
        val query = start(events, checkpoint) { (batch, _) =>
          val session = batch.sparkSession
          settings.foreach { case (key, value) => session.conf.set(key, value) }
          val inner = MemoryStream[(Int, java.sql.Timestamp)](session)
          val times = inner.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
          // `same` is a plain column and no event time, although the optimizer finds that it equals `t`.
          val counts = times.withColumn("same", when(lit(true), $"t")).groupBy(window($"t", "10 minutes"), $"same")
          val running = counts.count().select(date_format($"same", "HH:mm"), $"count").writeStream.foreachBatch {
            (batch: DataFrame, _: Long) => seen ++= batch.collect()
          }.start()
          try {
            Seq("10:00", "10:30", "10:10", "10:50").foreach { clock =>
              inner.addData(1 -> at(clock))
              running.processAllAvailable()
            }
            val plan = running.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.optimizedPlan
            assert(!plan.exists(_.isInstanceOf[OperatorInput]), plan)
          } finally running.stop()
        }
        try {
          stream.addData(1 -> at("10:00"))
          query.processAllAvailable()
        } finally query.stop()
      }
      assert(seen === Seq(Row("10:00", 1), Row("10:30", 1)))
    }

  test("a running query can be explained") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val query = start(outerJoinAndCounts(inputs.a, inputs.b), checkpoint)(readAll)
      val execution = query.asInstanceOf[StreamingQueryWrapper].streamingQuery
      try {
        assert(execution.explainInternal(extended = false).startsWith("No physical plan"))
        inputs.step(1 -> "10:00")(1 -> "10:05")()
        query.processAllAvailable()
        for (extended <- Seq(true, false)) {
          val text = execution.explainInternal(extended)
          assert(text.contains("OperatorInput ") && text.contains("StreamingSymmetricHashJoin"), text)
        }
      } finally query.stop()
    }
  }

  test("tidemark_version returns the version, and tidemark_report the report of a query") {
    val Array(version) = spark.sql("SELECT tidemark_version()").as[String].collect(): @unchecked
    assert(version.matches("""\d+\.\d+\.\d+\S* spark-4\.2"""))
    val (stream, events) = timed("t", "0 seconds")
    def report(id: String) = spark.sql(s"SELECT tidemark_report('$id')").as[String].head()
    testStream(events.groupBy(window($"t", "10 minutes")).count())(
      AddData(stream, 1 -> at("10:00")),
      ProcessAllAvailable(),
      Execute { query =>
        for (id <- Seq(query.id, query.runId))
          assert(report(id.toString).contains(s""""max_event_time_ms":${millis("10:00")}"""))
        val read = io.tidemark.functions.report(query)
        assert(read.toString.contains("largest event time 2024-") && read.json === report(query.runId.toString))
      })
    val unknown = report("00000000-0000-0000-0000-000000000000")
    assert(unknown.contains("UNKNOWN_QUERY") && unknown.contains("the last 100 queries that have ended"))
    assert(report("no id at all") === null)
  }
}
