package org.apache.spark.sql.tidemark.status

import java.sql.Timestamp

import io.tidemark.{Idle, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.catalyst.plans.logical.{Deduplicate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions.{window, window_time}
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report
import org.apache.spark.sql.tidemark.support.ReasonTest

/** The sentence of a report is true of what the sink has, at any moment, and of a query that has ended. */
class TrueSentenceSuite extends ReasonTest {
  import testImplicits._

  private def reportOf(query: StreamingQuery): JsonNode =
    new ObjectMapper().readTree(RunningQueries.report(query.runId, Report.json).get)
  private def reasonOf(query: StreamingQuery): (String, String) = {
    val why = reportOf(query).get("why")
    why.get("code").asText -> why.get("sentence").asText
  }

  private def hourlyBy(rows: DataFrame, options: WatermarkOptions): DataFrame =
    counted(withWatermark(rows, "time", "10 minutes", options), "time")
  private def hourly(rows: DataFrame): DataFrame =
    counted(withWatermark(rows, "time", "10 minutes", keyed("orders")), "time")

  private def started(df: DataFrame, trigger: Trigger = Trigger.ProcessingTime(0))(
      sink: (Dataset[Row], Long) => Unit): StreamingQuery =
    df.writeStream.trigger(trigger).foreachBatch(sink).start()

  test("with a long trigger, what is due is said to come at the next one, and what has come is said to have come") {
    val (stream, rows) = bare("time")
    stream.addData((1, at("10:05")), (2, at("12:05")))
    var emitted = 0L
    val query = started(hourly(rows), Trigger.ProcessingTime("1 hour")) { (batch, _) => emitted += batch.count() }
    try {
      eventually(timeout(streamingTimeout))(assert(query.lastProgress != null))
      assert(emitted === 0)
      val (code, sentence) = reasonOf(query)
      assert(code === "FLOWING")
      assert(sentence.startsWith(
        "What is due at aggregation #0 up to 2024-03-01T11:55:00Z, 10 minutes behind the latest event "))
      assert(sentence.contains(" is emitted at the next trigger: there is one every 1 hour."))
    } finally query.stop()
    assert(reasonOf(query)._2.contains(" is emitted when the query is started again."))
  }

  test("while a batch still runs, what it is about to emit is not said to be emitted") {
    val (stream, rows) = bare("time")
    var sentences = Seq.empty[String]
    var query: StreamingQuery = null
    query = started(hourly(rows)) { (batch, _) =>
      if (batch.count() > 0) sentences :+= reasonOf(query)._2
    }
    try {
      stream.addData((1, at("10:05")))
      query.processAllAvailable()
      stream.addData((2, at("12:05")))
      query.processAllAvailable()
      assert(sentences.size === 1)
      assert(sentences.head.startsWith("What is due at aggregation #0 up to 2024-03-01T11:55:00Z") ||
        sentences.head.startsWith("aggregation #0 has emitted what was due up to 2024-03-01T09:55:00Z. What is due "))
      assert(reasonOf(query)._2.startsWith("aggregation #0 has emitted what was due up to 2024-03-01T11:55:00Z"))
    } finally query.stop()
    assert(reasonOf(query)._2.startsWith("aggregation #0 has emitted what was due up to 2024-03-01T11:55:00Z"))
  }

  test("a query that has failed says in which batch, by what, and what has not been emitted") {
    for (bad <- Seq(0L, 2L)) {
      val (stream, rows) = bare("time")
      val query = started(hourly(rows)) { (batch, id) =>
        batch.count()
        if (id >= bad) throw new IllegalStateException(s"disk full\nat a place")
      }
      val failed = intercept[StreamingQueryException] {
        for (time <- Seq("10:05", "12:05", "14:05")) {
          stream.addData((1, at(time)))
          query.processAllAvailable()
        }
      }
      assert(failed.getMessage.contains("disk full"))
      eventually(timeout(streamingTimeout))(assert(!query.isActive))
      val (code, sentence) = reasonOf(query)
      assert(code === "FAILED")
      assert(sentence.startsWith(s"The query failed in batch $bad: disk full. "))
      if (bad == 0) assert(sentence.endsWith("Nothing of batch 0 was committed."))
      else assert(sentence.endsWith(
        "aggregation #0 has emitted what was due up to 2024-03-01T09:55:00Z, and nothing later was committed."))
      val why = reportOf(query).get("why")
      assert(why.get("is_trouble").asBoolean)
      assert(why.get("fix").asText === s"removing that cause and starting the query again, which runs batch $bad again")
    }
  }

  test("a query that fails before its first batch says so, too") {
    val (stream, first) = bare("time")
    val (_, second) = bare("time")
    def marked(df: DataFrame) = withWatermark(df, "time", "10 minutes", keyed("same"))
    val query = started(counted(marked(first), "time").union(counted(marked(second), "time")))((_, _) => ())
    stream.addData((1, at("10:05")))
    try intercept[StreamingQueryException](query.processAllAvailable())
    finally query.stop()
    assert(reasonOf(query)._1 === "FAILED")
    assert(reasonOf(query)._2.startsWith("The query failed in batch 0: [TIDEMARK.DUPLICATE_KEY] "))
    assert(reasonOf(query)._2.endsWith(" Nothing of batch 0 was committed."))
  }

  test("rows that are lost again and again are trouble, and a delay that keeps them is named") {
    def run(delay: String): (JsonNode, Long) = {
      val (stream, rows) = bare("time")
      val query = started(counted(withWatermark(rows, "time", delay, keyed("orders")), "time"))((batch, _) => {
        batch.count(); ()
      })
      try {
        for (k <- 0 until 14) {
          stream.addData((1, at(s"${10 + k / 2}:${k % 2 * 3}5")), (2, at(s"${5 + k / 2}:${k % 2 * 3}5")))
          query.processAllAvailable()
        }
        val report = reportOf(query)
        report.get("why") -> report.get("plan").findValue("late_rows").asLong
      } finally query.stop()
    }
    val (why, late) = run("10 minutes")
    assert(late === 13)
    assert(why.get("code").asText === "SOME_LATE")
    assert(why.get("held_by").asText === "orders")
    assert(why.get(
      "sentence").asText.startsWith("13 of the 28 rows of the last 14 batches were late at aggregation #0, by up to "))
    val delay =
      ".* or a delay of (.*), which would have kept them".r.findFirstMatchIn(why.get("fix").asText).get.group(1)
    // The advice holds: with that delay none of them is lost.
    assert(run(delay)._2 === 0, delay)
  }

  test("the split that loses most rows is named") {
    val (stream, rows) = bare("time")
    val query = started(hourlyBy(rows, keyed("orders").copy(splitBy = SplitBy($"id"))))((batch, _) => {
      batch.count(); ()
    })
    try {
      stream.addData((1, at("12:08")), (2, at("12:05")))
      query.processAllAvailable()
      for (minute <- 10 to 14) {
        stream.addData((1, at("12:09")), (2, at(s"10:$minute")), (2, at("12:06")))
        query.processAllAvailable()
      }
      val why = reportOf(query).get("why")
      assert(why.get("code").asText === "SOME_LATE")
      assert(why.get("sentence").asText.contains(" Split \"2\" has lost most in this run, "), why)
    } finally query.stop()
  }

  test("a deduplication without the event time never evicts, whatever its input does") {
    val (stream, rows) = bare("time")
    val marked = withWatermark(rows, "time", "10 minutes", keyed("orders"))
    val query = started(marked.dropDuplicates("id"))((batch, _) => { batch.count(); () })
    try {
      for (time <- Seq("10:05", "14:05", "20:05")) {
        stream.addData((time.hashCode, at(time)))
        query.processAllAvailable()
      }
      val (code, sentence) = reasonOf(query)
      assert(code -> sentence === "NEVER_EVICTS" ->
        "dropDuplicates #0 keeps what it has seen forever, because nothing in its state has an event time.")
    } finally query.stop()
  }

  test("an inner join without bounds never evicts, though one of its sides is behind") {
    val (orders, allOrders) = bare("time")
    val (payments, allPayments) = bare("paid")
    val joined = withWatermark(allOrders, "time", "10 minutes", keyed("orders"))
      .join(
        withWatermark(allPayments.withColumnRenamed("id", "of"), "paid", "10 minutes", keyed("payments")),
        $"id" === $"of")
    val query = started(joined)((batch, _) => { batch.count(); () })
    try {
      orders.addData((1, at("10:05")), (2, at("13:05")))
      payments.addData((1, at("10:05")))
      query.processAllAvailable()
      val why = reportOf(query).get("why")
      assert(why.get("code").asText === "NEVER_EVICTS")
      assert(why.get("fix").asText === "adding a time range between both event times to the join condition")
    } finally query.stop()
  }

  test("a watermark on what an aggregation emits is not said to hold back what that aggregation reads") {
    val (stream, rows) = bare("time")
    val hours = counted(withWatermark(rows, "time", "1 minute", keyed("orders")), "time")
    val again = hours.select(window_time($"window").as("t"), $"count")
    val days = withWatermark(again, "t", "3 minutes", keyed("hours")).groupBy(window($"t", "1 hour")).count()
    val query = started(days)((batch, _) => { batch.count(); () })
    try
      for (minute <- 4 to 56 by 4) {
        stream.addData((1, at(f"10:$minute%02d")))
        query.processAllAvailable()
        val why = reportOf(query).get("why")
        assert(!why.get("is_trouble").asBoolean, why)
        if (minute == 4) assert(why.get("sentence").asText.startsWith("aggregation #"))
      }
    finally query.stop()
  }

  test("event times of before 1970 are late, and no delay is said to help") {
    val (stream, rows) = bare("time")
    val query = started(hourly(rows))((batch, _) => { batch.count(); () })
    try {
      stream.addData((1, new Timestamp(-300000000000L)))
      query.processAllAvailable()
      val why = reportOf(query).get("why")
      assert(why.get("code").asText === "ALL_LATE")
      assert(why.get("fix").asText.startsWith("using event times after 1970"))
      assert(reportOf(query).get("plan").findValue("late_ms").asLong === 0)
    } finally query.stop()
  }

  test("what is due after a run comes with the first rows of the next one, unless that begins with what is due") {
    def sentence(options: WatermarkOptions): String = {
      val (stream, rows) = bare("time")
      stream.addData((1, at("10:05")), (2, at("12:05")))
      val query = started(
        counted(withWatermark(rows, "time", "10 minutes", options), "time"),
        Trigger.ProcessingTime("1 hour"))((batch, _) => { batch.count(); () })
      eventually(timeout(streamingTimeout))(assert(query.lastProgress != null))
      query.stop()
      reasonOf(query)._2
    }
    assert(sentence(WatermarkOptions()).contains(" is emitted by the first rows after the query is started again."))
    assert(sentence(keyed("orders").copy(idle =
      Idle("1 hour"))).contains(" is emitted when the query is started again."))
  }

  test("a restart of a query that begins with what is due does not promise to wait for a row") {
    def reason(options: WatermarkOptions): String = {
      val (stream, rows) = bare("time")
      def df = counted(withWatermark(rows, "time", "10 minutes", options), "time")
      var found = ""
      withTempDir { checkpoint =>
        def start() = df.writeStream.option("checkpointLocation", checkpoint.getPath).format("noop").start()
        val first = start()
        stream.addData((1, at("10:05")))
        first.processAllAvailable()
        first.stop()
        val second = start()
        eventually(timeout(streamingTimeout))(assert(RunningQueries.report(second.runId, Report.json).nonEmpty))
        found = reasonOf(second)._2
        second.stop()
      }
      found
    }
    assert(reason(keyed("orders").copy(idle = Idle("1 hour"))) !==
      "No batch has run since the restart. One runs when a row arrives, and not before.")
  }

  test("the report of a query without a watermark has the orders of its operators, while it runs and after") {
    val (stream, rows) = bare("time")
    val query = started(rows.repartition(3).dropDuplicates("id"))((batch, _) => { batch.count(); () })
    def order = reportOf(query).get("plan").get("children").get(0).get("order")
    try {
      stream.addData((1, at("10:05")))
      query.processAllAvailable()
      assert(order.get("kind").asText === "none" && order.get("lost_at").asText.nonEmpty)
    } finally query.stop()
    assert(order.get("kind").asText === "none")
    assert(reasonOf(query)._1 === "NO_WATERMARK")
  }

  test("a query without a watermark whose plan fails says so") {
    val (stream, rows) = bare("time")
    val before = spark.experimental.extraOptimizations
    val fails = new Rule[LogicalPlan] {
      override def apply(plan: LogicalPlan): LogicalPlan =
        if (plan.exists(_.isInstanceOf[Deduplicate])) throw new IllegalStateException("no plan") else plan
    }
    spark.experimental.extraOptimizations = before :+ fails
    try {
      val query = started(rows.dropDuplicates("id"))((batch, _) => { batch.count(); () })
      stream.addData((1, at("10:05")))
      intercept[StreamingQueryException](query.processAllAvailable())
      assert(reasonOf(query)._1 === "FAILED")
      assert(reasonOf(query)._2.contains("no plan"))
    } finally spark.experimental.extraOptimizations = before
  }

  test("a query that Tidemark leaves alone has a reason in its report, and the true one") {
    def reason(df: MemoryStream[(Int, Timestamp)] => DataFrame): (String, String) = {
      val (stream, _) = bare("time")
      val query = started(df(stream))((batch, _) => { batch.count(); () })
      try {
        query.processAllAvailable()
        reasonOf(query)
      } finally query.stop()
    }
    assert(reason(_.toDF()) === "NO_WATERMARK" -> "The query has no watermark, so nothing in it waits for one.")
    withSQLConf(TidemarkConf.Enabled.key -> "false") {
      assert(reason(_.toDF().withWatermark("_2", "1 minute").dropDuplicates()) ===
        "LEFT_TO_SPARK" -> "Watermarks are Spark's own here: spark.tidemark.enabled=false.")
    }
  }
}
