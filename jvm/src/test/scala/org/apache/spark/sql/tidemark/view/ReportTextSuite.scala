package org.apache.spark.sql.tidemark.view

import java.nio.file.{Files, Path, Paths}

import org.scalatest.funsuite.AnyFunSuite

/** What a report looks like in a terminal. No Spark runs here.
  *
  * Write the golden files again with `make golden`.
  */
class ReportTextSuite extends AnyFunSuite {
  private val isWriting = sys.props.get("tidemark.golden").contains("write")
  private val folder: Path = Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/golden/reports")
  private val Zero = "1970-01-01T00:00:00Z"

  private def golden(name: String): String = Files.readString(folder.resolve(s"$name.json"))

  /** The lines of a report behind its heading, without what is in front of them. */
  private def lines(fields: String): Seq[String] =
    ReportText.of(s"""{"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3, $fields}""").split('\n').toSeq.tail
      .map(_.replaceAll("^[ │├└─]+", ""))

  private def details(input: String): Seq[String] = lines(s""""inputs": [{"column": "t", $input}]""").drop(2)

  private def operator(fields: String): Seq[String] =
    lines(s""""plan": {"operator": "in order", "id": 0, "columns": [], $fields}""").drop(2)

  Seq("join", "union", "splits", "noted", "order").foreach { name =>
    test(s"the report '$name' matches its golden text") {
      val file = folder.resolve(s"$name.txt")
      val text = ReportText.of(golden(name)) + "\n"
      if (isWriting) { val _ = Files.writeString(file, text) }
      assert(text === Files.readString(file))
    }
  }

  test("a report begins with why nothing comes out, in lines of at most 100 characters") {
    val sentence = "Nothing comes out: " + Seq.fill(30)("aggregation").mkString(" ") + " waits."
    val text = ReportText.of(
      s"""{"query": {"id": "5f1c"}, "engine": "tidemark", "batch": 3,
        | "why": {"sentence": "$sentence", "fix": "setting idle_after"}}""".stripMargin)
    val all = text.split('\n').toSeq
    assert(all.takeRight(2) ===
      Seq("Fix this by setting idle_after.", "query 5f1c, batch 3: one watermark per event-time column"))
    assert(all.dropRight(2).mkString(" ") === sentence && all.size > 4 && all.forall(_.length <= 100))
  }

  test("the heading says why a query is left to Spark, that no batch has ended, and what a restart waits for") {
    assert(ReportText.of("{}") === "query ?: left to Spark (no reason given)")
    assert(ReportText.of("""{"query": {"id": "5f1c"}, "engine": "spark", "reason": "x"}""") ===
      "query 5f1c: left to Spark (x)")
    def started(fields: String) = ReportText.of(s"""{"query": {"name": "a"}, "engine": "tidemark", $fields}""")
    assert(started(""""batch": null""") === "query a, no batch has ended yet: one watermark per event-time column")
    assert(started(""""batch": 7, "waiting_since": "restart"""") ===
      "query a, batch 7: waiting for its first batch since the restart")
  }

  test("the next window is said with the scans that were skipped") {
    val windows = """"late_ms": 0, "eviction_ms": 0"""
    assert(!operator(windows).mkString.contains("next window"))
    assert(operator(s"""$windows, "next_due_ms": 3600000""").last ===
      "the next window closes when the watermark reaches 1970-01-01T01:00:00Z")
    assert(operator(s"""$windows, "next_due_ms": 0, "skipped_scans": 1""").last.endsWith("Z, 1 state scan skipped"))
    assert(operator(s"""$windows, "next_due_ms": 0, "skipped_scans": 12""").last.endsWith("Z, 12 state scans skipped"))
  }

  test("each side of a join says how often its state was not scanned") {
    val left = """"late_ms": 0, "eviction_ms": 0, "skipped_scans": 3"""
    assert(operator(s""""sides": [{"side": "left", $left}, {"side": "right", "late_ms": 0, "eviction_ms": 0}]""") ===
      Seq(
        s"left side: late at or before $Zero, state evicted up to $Zero, 3 state scans skipped",
        s"right side: late at or before $Zero, state evicted up to $Zero"))
  }

  test("late rows that were passed on are said so, and the splits that had most of them") {
    assert(lines(""""plan": {"operator": "in order", "id": 0, "late_rows": 0, "passed_rows": 1}""").last ===
      "in order #0, 1 late row passed on")
    assert(operator(""""late_ms": 0, "eviction_ms": null, "late": {"passed": true}""") ===
      Seq(s"late at or before $Zero (passed on), no state evicted yet"))
    val splits = """[{"name": "pump", "rows": 5}, {"name": "mill\n", "rows": 1}]"""
    assert(operator(s""""late_ms": 0, "late": {"rows": 9, "splits": $splits}""").last ===
      "late rows by split: \"pump\" 5, \"mill\\n\" 1, others 3")
    assert(operator(""""never_late": true, "keeps_forever": true""") === Seq("no row is late here, state kept forever"))
  }

  test("asynchronous calls are counted, with how long they took") {
    def column(fields: String, all: String) =
      lines(s""""calls": [{"column": "profile", "last": {$fields}, "all": {$all}}]""")
    val rest = """"retries": 1, "failed": 0, "timed_out": 2, "defaulted": 1"""
    val times = """"most_in_flight": 64, "p50_ms": 12.34, "p99_ms": 141.7, "slowest_ms": 2001.5"""
    val all = s""""calls": 1, $rest"""
    val last = s""""calls": 1204, $rest, $times"""
    assert(column(s"""$last, "slowest": "user_id=7"""", all) === Seq(
      "calls",
      "profile: 1,204 calls (1 retry, 2 time-outs, 1 row with a default) in the last batch, " +
        "1 call (1 retry, 2 time-outs, 1 row with a default) so far",
      "half within 12.3 ms, 99 % within 142 ms, at most 64 in flight in a task",
      "the slowest took 2,002 ms: user_id=7"))
    assert(column(s"""$last, "slowest": """"", all).last === "the slowest took 2,002 ms")
    assert(column(""""calls": 0, "slowest_ms": null""", "") ===
      Seq("calls", "profile: 0 calls in the last batch, 0 calls so far"))
  }

  test("an operator says in what order it reads, and where that was lost") {
    def order(fields: String) = operator(s""""order": {"of_groups": true, $fields}""").head
    val lost = """"lost_at": "union", "why": "its inputs have watermarks of their own""""
    assert(order(s""""kind": "none", $lost""") ===
      "order: none, lost at union: its inputs have watermarks of their own")
    assert(order(""""kind": "arrival"""") === "order: each group in the order of the source")
    assert(order(""""kind": "arrival", "lost_at": "Kafka", "why": "its 2 partitions are mixed"""") ===
      "order: each group as each task has read them from the source, lost in part at Kafka: its 2 partitions are mixed")
    val time = """"kind": "time", "columns": ["time"]"""
    assert(order(time) === "order: each group by time, within each batch")
    assert(order(s"""$time, $lost""") ===
      "order: each group by time, lost in part at union: its inputs have watermarks of their own")
    assert(operator(s""""order": {$time, "of_groups": false, "over_batches": true}""") ===
      Seq("order: all rows by time"))
  }

  test("rows that wait are said with their size, and with the watermarks that let them go") {
    def held(fields: String) = operator(s""""held": {$fields}""")
    assert(held(""""rows": 0, "bytes": 10""") === Seq("holds no rows"))
    assert(held(""""rows": 1, "bytes": 900""") === Seq("holds 1 row (900 bytes)"))
    assert(held(""""rows": 1, "bytes": 9, "next_due_ms": 0, "last_due_ms": 0""").last ===
      s"it is emitted when the watermark reaches $Zero")
    assert(held(""""rows": 2, "bytes": 999960, "next_due_ms": 0, "last_due_ms": 0, "waits_for": "t"""") ===
      Seq("holds 2 rows (1.0 MB), waits for t", s"they are emitted when the watermark reaches $Zero"))
    assert(held(""""rows": 2, "bytes": 9, "next_due_ms": 0, "last_due_ms": 60000, "waits_for": "t", "split": "a"""") ===
      Seq(
        """holds 2 rows (9 bytes), waits for t, split "a"""",
        s"the first is emitted when the watermark reaches $Zero",
        "the last is emitted when the watermark reaches 1970-01-01T00:01:00Z"))
  }

  test("an input says only what it has: absent and null fields are left out") {
    assert(details(""""key": "t"""") === Nil)
    assert(details(""""idle_after_ms": 1000""") === Seq("idle_after 1 second"))
    assert(details(""""split_by": ["device"]""") === Seq("split_by device"))
    assert(details(""""split_by": ["device"], "splits": {"worst": [{"name": null}], "idle_ones": [{}]}""") === Seq(
      "split_by device",
      "0 splits",
      "split null, has never had a row",
      "idle: split null, has never had a row"))
  }

  test("downtime is not silence of a split") {
    val first =
      """{"name": "a", "clock_ms": 0, "last_active_ms": 0, "silent_ms": 7000, "silent_of_ms": 8000, "behind_ms": 1500}"""
    val never = """{"name": "b", "clock_ms": null, "is_expected": true, "state": "without_rows"}"""
    val splits = s""""total": 2, "active": 2, "without_rows": 1, "worst": [$first, $never]"""
    assert(details(s""""split_by": ["k"], "splits": {$splits}""").tail === Seq(
      "2 splits: 1 active, 1 without a row yet",
      s"""held back by split "a", clock $Zero, 1.5 seconds behind, last row $Zero, silent for 7 seconds of 8 seconds """ +
        "(the rest does not count)",
      """then split "b", expected, has never had a row"""))
  }

  test("a time window has both bounds, one, or none") {
    def window(bounds: String) =
      details(s""""split_by": ["w"], "noted": {"location": "/log"$bounds}, "splits": {"total": 1}""")(2)
    assert(window("") === "no time window yet")
    assert(window(""", "upper_ms": 0""") === s"time window up to $Zero")
    assert(window(""", "lower_ms": 0""") ===
      s"time window from $Zero, without an end: a writer has noted nothing later")
    assert(window(""", "lower_ms": 0, "upper_ms": 1000""") === s"time window $Zero to 1970-01-01T00:00:01Z")
  }

  test("the newest lines of a writer that cannot be read are said, and no line on a writer has two times") {
    val noted = golden("noted").replace(""""is_broken": true""", """"is_damaged": true""")
    val all = ReportText.of(noted).split('\n').map(_.trim).toSeq
    val first = all.indexOf("""held back by writer "new", nothing noted yet""")
    assert(all(first + 1) === "its newest lines cannot be read")
    val ofWriters = all.slice(first, all.indexWhere(_.startsWith("promises broken")))
    assert(ofWriters.size > 10 && ofWriters.forall(_.count(_ == 'Z') <= 1))
  }

  test("what the query notes for others is said") {
    val output = """"column": "window", "location": "/log", "writer": "a""""
    assert(lines(
      s""""outputs": [{$output, "noted_ms": 0, "failures": 2}, {$output, "noted_ms": null, "failures": 0}]""") ===
      Seq(
        "noted for other queries",
        s"window, noted $Zero, writer a in /log, 2 marks could not be written",
        "window, nothing is noted yet, writer a in /log"))
  }

  test("names stay on one line, and long ones are cut") {
    val key = "orders\\u001b[2J\\nquery fake, batch 9"
    val text = ReportText.of(
      s"""{"query": {"id": "5f1c", "name": "my\\rquery"}, "engine": "tidemark", "batch": 1,
        | "inputs": [{"key": "$key", "column": "time", "watermark_ms": 0}],
        | "hints": [{"code": "X", "message": "about \\u0007this"}],
        | "plan": {"operator": "withWatermark", "key": "$key", "columns": [{"name": "a\\tb", "out_ms": 0}]}}""".stripMargin)
    assert(text.split('\n').length === 8)
    assert(!text.exists(c => c != '\n' && Character.isISOControl(c)))
    val long = "x" * 10000
    val cut = "x" * 60 + "..."
    val shown = ReportText.of(
      s"""{"query": {"name": "$long"}, "engine": "tidemark", "batch": 1, "calls": [{"column": "$long"}],
        | "inputs": [{"key": "$long", "column": "${long}y", "watermark_ms": 0}]}""".stripMargin)
    assert(shown.startsWith(s"query $cut, batch 1"))
    assert(shown.contains(s"  $cut [$cut], watermark $Zero, ") && !shown.contains("x" * 61))
  }

  test("times are in the zone of the session, and in UTC where Java does not know it") {
    def time(zone: String) = ReportText.of(
      s"""{"engine": "tidemark", "zone": $zone, "inputs": [{"key": "t", "column": "t", "watermark_ms": 1700000000000}]}""")
    Seq(
      "\"UTC\"" -> "2023-11-14T22:13:20Z",
      "\"Europe/London\"" -> "2023-11-14T22:13:20Z",
      "\"America/New_York\"" -> "2023-11-14T17:13:20-05:00",
      "\"+02:00\"" -> "2023-11-15T00:13:20+02:00",
      "\"GMT-3\"" -> "2023-11-14T19:13:20-03:00",
      "\"no/such zone\"" -> "2023-11-14T22:13:20Z",
      "null" -> "2023-11-14T22:13:20Z").foreach { case (zone, text) =>
      assert(time(zone).contains(s"t, watermark $text, "))
    }
  }

  test("a rendered report has its text, its page, and each watermark as text") {
    val rendered = Fields.read(ReportPage.rendered(golden("join")))
    assert(rendered.text("text").contains(ReportText.of(golden("join"))))
    assert(rendered.text("html").exists(_.startsWith("<div")))
    assert(rendered.list("inputs").map(_.text("watermark")) === Seq(Some("2013-11-02T10:50:00Z"), Some("undefined")))
  }
}
