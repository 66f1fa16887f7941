package org.apache.spark.sql.tidemark.check

import java.sql.Timestamp

import io.tidemark.{Idle, Noted, NoteTimeOptions, SplitBy, TidemarkConf, TrapTable, WatermarkOptions}
import io.tidemark.functions.{currentWatermark, explain, noteTime, withWatermark}

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes._
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode

/** Each finding has a query that gives it, and one beside it that does not. */
class TrapsSuite extends ExplainTest {
  import testImplicits._

  private val tested = collection.mutable.HashSet.empty[String]

  private def traps(
      code: String,
      severity: String,
      mode: OutputMode = Append)(bad: => DataFrame)(good: => DataFrame) = {
    tested += code
    test(s"$code is found where it is, and not in a query beside it") {
      val findings = found(bad, mode)
      assert(findings.filter(_.code == code).map(_.severity.name).distinct === Seq(severity), findings)
      assert(!found(good, mode).exists(_.code == code))
    }
  }

  traps("NO_EVENT_TIME_APPEND", "error")(MemoryStream[Int].toDF().groupBy("value").count())(windows(orders))

  traps("GROUPS_BY_NO_EVENT_TIME", "error")(orders.groupBy("id").count())(orders.groupBy($"id", $"at").count())

  traps("MARK_LOST", "error")(orders.groupBy(to_date($"at").as("day")).count())(windows(orders))

  private def byOwnColumn(name: DataFrame => Column): DataFrame = {
    val raw = MemoryStream[(Int, Timestamp)].toDF().toDF("id", "at")
    raw.withWatermark("at", "1 minute").groupBy(window(name(raw), "1 hour")).count()
  }

  traps("MARK_OF_OTHER_FRAME", "error")(byOwnColumn(_("at")))(byOwnColumn(_ => $"at"))

  test("a key of another frame is a warning in update mode, where Spark runs it and keeps every group") {
    val other = found(byOwnColumn(_("at")), Update).find(_.code == "MARK_OF_OTHER_FRAME").get
    assert(other.severity.name === "warning" && other.sentence.endsWith("Every group is kept forever."))
  }

  test("a watermark that ends below an aggregation is found there too, and in update mode as a warning") {
    val days = orders.withColumn("day", date_trunc("day", $"at")).groupBy("day").count()
    for ((mode, severity) <- Seq(Append -> "error", Update -> "warning")) {
      val lost = found(days, mode).find(_.code == "MARK_LOST").get
      assert(lost.severity.name === severity)
      assert(lost.column === Some("at") && lost.operator === Some("aggregation by day"))
      assert(lost.sentence.contains("date_trunc") && lost.message.contains("Fix this by"))
    }
  }

  private def lost(query: DataFrame) = found(query, Append).find(_.code == "MARK_LOST").get

  test("a watermark that ends below the column of a window is found there") {
    for (by <- Seq("at + INTERVAL 1 HOUR", "coalesce(at, at)")) {
      val moved = lost(windows(orders.withColumn("at", expr(by))))
      assert(moved.sentence.contains(" ends where \"at\" is made by "), by)
      assert(moved.fix === "grouping by a window of \"at\" instead, or by putting the watermark on the new column")
    }
    assert(!lost(orders.groupBy(to_date($"at").as("day")).count()).fix.contains("new column"))
  }

  test("windows of the end of a window are told to be made of window_time, which works") {
    def again(time: Column) = windows(orders).groupBy(window(time, "1 day")).agg(sum("count"))
    val found = lost(again($"window.end"))
    assert(found.sentence.contains("makes windows of window.end, which is not event time"))
    assert(found.fix === "making them of window_time(\"window\")")
    assert(!this.found(again(window_time($"window")), Append).exists(_.severity.name === "error"))
  }

  test("a query that Spark refuses is not said to have a watermark that nothing uses") {
    val sums = windows(orders).groupBy("count").agg(sum("count"))
    assert(found(sums, Append).exists(_.severity.name === "error"))
    assert(!found(sums, Append).exists(_.code == "WATERMARK_UNUSED"))
  }

  test("counts of each user so far are only worth knowing in update mode, and a total says nothing") {
    val kept = found(orders.groupBy("id").count(), Update).find(_.code == "GROUPS_BY_NO_EVENT_TIME").get
    assert(kept.severity.name === "info")
    assert(!found(orders.groupBy().count(), Update).exists(_.code == "GROUPS_BY_NO_EVENT_TIME"))
  }

  traps("OUTER_JOIN_NO_BOUND", "error")(joined("left_outer", "id = order"))(joined("left_outer"))

  traps("STATE_TIMEOUT_NO_WATERMARK", "error")(
    withState(MemoryStream[(Int, Timestamp)].toDF().toDF("id", "at")))(withState(orders))

  traps("UPDATE_CHAIN", "error", Update)(windows(orders.dropDuplicates("id", "at").groupBy($"at").count()))(
    windows(orders))

  traps("SPARK_REFUSES", "error")(orders.orderBy("id"))(windows(orders))

  traps("DEDUP_FOREVER", "warning")(orders.dropDuplicates("id"))(orders.dropDuplicates("id", "at"))

  traps("DEDUP_EQUAL_TIMES", "info")(orders.dropDuplicates("id", "at"))(orders.dropDuplicates("at"))

  traps("OUTER_ROWS_WAIT", "info")(joined("left_outer"))(joined())

  private def marked(options: WatermarkOptions): DataFrame =
    withWatermark(MemoryStream[(Int, Timestamp)].toDF().toDF("id", "at"), "at", "10 minutes", options)

  traps("FAR_FUTURE", "info")(windows(orders))(windows(marked(WatermarkOptions(maxAhead = Some("1 day")))))

  traps("LAST_WINDOW_STAYS", "info")(windows(orders))(
    windows(marked(WatermarkOptions(idle = Idle(after = Some("1 minute"), whenAll = Some("advance"))))))

  test("the last windows of an input with noted time come out by its writers' marks") {
    val noted = windows(marked(WatermarkOptions(noted = Some(Noted("/orders/_tidemark")))))
    assert(!found(noted, Append).exists(_.code == "LAST_WINDOW_STAYS"))
  }

  traps("WATERMARK_AFTER", "info")(
    windows(windows(orders).select($"window.end".as("end")).withWatermark("end", "1 minute"), "end"))(windows(orders))

  traps("NEVER_EVICTS", "warning")(
    orders.join(MemoryStream[Int].toDF().toDF("order"), expr("id = order")))(joined())

  traps("UNBOUNDED_JOIN_SIDE", "warning")(joined(on = "id = order AND paid >= at"))(joined())

  test("the missing half of a join's condition is written out, and the join with it is sound") {
    def unbounded(df: DataFrame) = found(df, Append).filter(_.code == "UNBOUNDED_JOIN_SIDE")
    for ((half, missing) <-
        Seq("paid >= at" -> "paid <= at + INTERVAL 1 HOUR", "paid <= at" -> "at <= paid + INTERVAL 1 HOUR")) {
      assert(unbounded(joined(on = s"id = order AND $half")).map(_.fix.contains(s", such as $missing, or ")) ===
        Seq(true))
      assert(!found(joined(on = s"id = order AND $half AND $missing"), Append).exists(_.severity.name == "warning"))
    }
    // A name that needs quotes, and one that both sides have.
    def times(name: String) = withWatermark(MemoryStream[(Int, Timestamp)].toDF().toDF("key", name), name, "1 minute")
    for (name <- Seq("at\n", "paid")) {
      val findings = unbounded(times(name).join(payments, expr("key = order")))
      assert(findings.nonEmpty && !findings.exists(_.fix.contains("such as")), name)
    }
  }

  traps("COMPLETE_MODE", "warning", Complete)(windows(orders))(orders.groupBy().count())

  traps("UNION_INPUT_LEFT_OUT", "warning")(
    orders.union(MemoryStream[(Int, Timestamp)].toDF().toDF("id", "at")))(orders.union(payments))

  traps("UNION_WATERMARK_POSITION", "error")(
    windows(orders.select($"at", $"at".cast("timestamp").as("other"))
      .union(payments.select($"paid".cast("string").cast("timestamp").as("x"), $"paid"))))(
    windows(orders.union(payments)))

  traps("NO_IDLE_TIME", "info")(windows(orders.union(payments)))(windows(orders))

  private def idling(atJoin: String): DataFrame = withWatermark(
    MemoryStream[(Int, Timestamp)].toDF().toDF("order", "paid"),
    "paid",
    "10 minutes",
    WatermarkOptions(idle = Idle(after = Some("1 minute"), atJoin = Some(atJoin))))

  traps("JOIN_WAITS_FOR_IDLE", "info")(orders.join(idling("hold"), expr(near)))(
    orders.join(idling("follow"), expr(near)))

  traps("DELAY_ZERO", "info")(windows(timed("at", "0 seconds")._2))(windows(orders))

  private def texts: DataFrame = MemoryStream[String].toDF()

  traps("EVENT_TIME_IS_NOW", "info")(
    windows(texts.withColumn("at", current_timestamp()).withWatermark("at", "1 minute")))(windows(orders))

  traps("EVENT_TIME_MAY_BE_NULL", "info")(
    windows(texts.selectExpr("try_cast(value AS TIMESTAMP) AS at").withWatermark("at", "1 minute")))(
    windows(texts.selectExpr("CAST(value AS TIMESTAMP) AS at").withWatermark("at", "1 minute")))

  private def byMarks(time: Column, idle: Idle = Idle("1 hour")): DataFrame = {
    val counts = MemoryStream[Timestamp].toDF().groupBy(window($"value", "1 hour")).count().schema
    val rows = MemoryStream[Int].toDF().select(lit(null).cast(counts("window").dataType).as("window"))
    windows(withWatermark(
      rows.select(time.as("at")),
      "at",
      "0 seconds",
      WatermarkOptions(noted = Some(Noted("/counts/_tidemark")), idle = idle)))
  }

  test("an input with a mark log waits forever for a writer that stops, unless it has an idle time") {
    val found = explained(byMarks($"window.start", Idle())).findings.filter(_.code == "NO_IDLE_TIME")
    assert(found.map(_.sentence.takeWhile(_ != ',')) === Seq("If a writer of \"at\" falls silent"))
    assert(unusual(explained(byMarks($"window.start"))) === Nil)
  }

  traps("NOTED_WINDOW_END", "info")(byMarks($"window.end"))(byMarks($"window.end" - expr("INTERVAL 1 MICROSECOND")))

  private def hourly(columns: Column*): DataFrame =
    noteTime(windows(orders), "window", NoteTimeOptions(to = "/counts/_tidemark")).select(columns :+ $"count": _*)

  traps("NOTED_OUTPUT_END", "warning")(hourly($"window.start", $"window.end"))(
    hourly(window_time($"window").as("time"), $"window.end"))

  test("a window that is written whole has its times, and its end is not a trap") {
    for (df <- Seq(hourly($"window", $"window.end"), windows(orders).select($"window.end", $"count")))
      assert(!found(df, Append).exists(_.code == "NOTED_OUTPUT_END"))
    val renamed = found(hourly($"window.end".as("hour")), Append).find(_.code == "NOTED_OUTPUT_END").get
    assert(renamed.sentence.contains("their end, \"hour\", which") && renamed.fix.contains("window_time(\"window\")"))
  }

  traps("WATERMARK_UNUSED", "info")(orders.where("id > 1"))(orders.select(currentWatermark()))

  private def under(setting: String, value: String)(df: => DataFrame)(check: Explanation => Unit): Unit =
    withSQLConf(setting -> value)(check(explained(df)))

  tested += "NO_DATA_BATCHES_OFF"
  test("NO_DATA_BATCHES_OFF is found where windows wait for the next row, and not where rows come out immediately") {
    under(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key, "false")(windows(orders)) { explanation =>
      assert(unusual(explanation) === Seq("NO_DATA_BATCHES_OFF"))
    }
    under(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key, "false")(orders.dropDuplicates("id", "at")) {
      explanation =>
        assert(unusual(explanation) === Nil)
    }
  }

  tested += "LEFT_TO_SPARK"
  test("LEFT_TO_SPARK is found for the policy max, and not without it") {
    under(SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key, "max")(windows(orders)) { explanation =>
      assert(explanation.findings.map(_.code) === Seq("LEFT_TO_SPARK"))
    }
    assert(unusual(explained(windows(orders))) === Nil)
  }

  tested += "AVAILABLE_NOW_NEVER_LISTENS"
  test("AVAILABLE_NOW_NEVER_LISTENS is found for that trigger and an idle time, unless the time between runs counts") {
    def codes(df: DataFrame, isAvailableNow: Boolean = true) =
      Explanation.of(spark, df.queryExecution.analyzed, Append, isAvailableNow).findings.map(_.code)
    val code = "AVAILABLE_NOW_NEVER_LISTENS"
    val idle = windows(idling("hold"), "paid")
    assert(codes(idle).contains(code))
    assert(!codes(idle, isAvailableNow = false).contains(code) && !codes(windows(orders)).contains(code))
    withSQLConf(TidemarkConf.DowntimeIsSilence.key -> "true")(assert(!codes(idle).contains(code)))
    assert(explain(idle, trigger = Some("availableNow")).findings.exists(_.code == code))
    // An idle time alone would not help.
    val fixes = explain(windows(orders.union(payments)), trigger = Some("availableNow")).findings
      .filter(finding => Set("NO_IDLE_TIME", "LAST_WINDOW_STAYS")(finding.code)).map(_.fix)
    assert(fixes.size > 2 && fixes.forall(_.contains(" and spark.tidemark.downtimeIsSilence to true, if ")), fixes)
  }

  tested += "KAFKA_ONE_CLOCK"
  test("KAFKA_ONE_CLOCK is found for rows as they come from Kafka, and not with splits") {
    // The connector is not on the class path, and its name is all that counts.
    def codes(df: DataFrame) = {
      val plan = df.queryExecution.analyzed.transform { case source: StreamingRelationV2 =>
        source.copy(sourceName = "kafka")
      }
      unusual(Explanation.of(spark, plan, Append))
    }
    val raw = MemoryStream[(Int, Timestamp)].toDF().toDF("id", "at")
    assert(codes(windows(raw.where("id > 0").withWatermark("at", "1 minute"))) === Seq("KAFKA_ONE_CLOCK"))
    val split = withWatermark(raw, "at", "1 minute", WatermarkOptions(splitBy = SplitBy($"id")))
    assert(codes(windows(split)) === Seq("NO_IDLE_TIME"))
    assert(unusual(explained(windows(orders))) === Nil)
  }

  test("each finding of the plan alone has a query here") {
    assert(TrapTable.codes.diff(tested.toSet) === Set.empty)
  }
}
