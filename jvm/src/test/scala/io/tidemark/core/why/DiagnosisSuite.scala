package io.tidemark.core.why

import java.time.ZoneOffset

import io.tidemark.core.{OperatorId, Watermark}
import io.tidemark.core.plan.{PlanShape, Propagation}
import io.tidemark.core.support.{JoinPlans, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** Which reason is given if several are true at the same time. */
class DiagnosisSuite extends AnyFunSuite with JoinPlans {
  private val words = new Words(ZoneOffset.UTC)
  private val now = time("20:00")

  private val counted = aggregation(0, origin("payments", 1), 1)
  private val both =
    aggregation(1, union(origin("orders", 1) -> Some(1L), origin("payments", 2) -> Some(2L)), 1)

  private def input(key: String, watermark: Watermark, delay: Long = minutes(10)): Situation.Origin =
    Situation.Origin(named(key), watermark, delay, watermark.millis.map(_ + delay))

  private def silent(key: String, reached: String, lastActive: String): Situation.Origin =
    input(key, Watermark.Idle(Some(time(reached)))).copy(lastActiveMillis = Some(time(lastActive)))

  private def lagging(clock: Option[Long], idleAt: Option[Long] = None) =
    Situation.Split("pl-7", clock, clock.map(_ => time("12:22")), idleAt)

  private def situation(shape: PlanShape, inputs: Situation.Origin*): Situation = {
    val origins = inputs.map(one => one.name -> one).toMap
    val decision = decided(inputs.map(one => one.name.key -> one.watermark): _*)
    val watermarks = Propagation.levels(shape, decision)
    Situation(
      shape,
      watermarks,
      origins,
      Map.empty,
      Map.empty,
      Map.empty,
      now,
      emitsAll = false,
      runsNoDataBatches = true)
  }

  private def due(operator: Long, at: String): Map[OperatorId, Long] = Map(OperatorId(operator) -> time(at))
  private def sentence(of: Situation): String = Diagnosis.of(of).sentence(words)

  test("a query without a stateful operator waits for nothing") {
    assert(Diagnosis.of(situation(origin("payments", 1), input("payments", at(0)))) === Verdict.NoOperatorWaits)
  }

  test("an input without a row holds the operator that reads it") {
    val found = Diagnosis.of(situation(both, input("orders", at(time("12:10"))), input("payments", Watermark.Unknown)))
    assert(found === Verdict.NoEventTime(Verdict.Operator("aggregation #1"), named("payments"), hasRows = false))
    assert(found.sentence(words) ===
      "Nothing comes out: aggregation #1 waits for \"payments\", which has had no row with an event time yet.")
  }

  test("an input whose largest event time is that of a null is said to have no event time") {
    val nulls = input("payments", at(-minutes(10)))
    assert(Diagnosis.of(situation(counted, nulls)) ===
      Verdict.NoEventTime(Verdict.Operator("aggregation #0"), named("payments"), hasRows = true))
  }

  test("a split that is behind is named when the furthest one has passed the next window") {
    val splits = input("payments", at(time("09:40")))
      .copy(isSplit = true, largestClockMillis = Some(time("12:10")), last = Some(lagging(Some(time("09:40")))))
    val held = situation(counted, splits).copy(dueMillis = due(0, "10:00"))
    assert(sentence(held) ===
      "Nothing comes out: aggregation #0 waits for \"payments\", whose split \"pl-7\" stands at 1970-01-01T09:40:00Z, " +
      "2 hours 30 minutes behind the furthest. It was last active at 1970-01-01T12:22:00Z. " +
      "It has no idle_after, so it holds for ever if nothing comes.")
    assert(Diagnosis.of(held).fix(words).exists(_.contains("idle_after")))
    val once = Diagnosis.of(situation(counted, splits.copy(seenOnce = Some(936))).copy(dueMillis = due(0, "10:00")))
    assert(once.sentence(words).endsWith("Nearly all of its 936 splits have had rows in one batch only."))
    assert(once.fix(words).exists(_.contains("by something that has rows again and again")))
    // No window has ended in any split, so nothing is held back.
    assert(Diagnosis.of(held.copy(dueMillis = due(0, "13:00"))).code === "FLOWING")
  }

  test("rows that wait to come out in order are counted, and the sentence says until when") {
    val rows = Situation.Held(3, time("12:01"), time("12:20"))
    val waiting = situation(counted, input("payments", at(time("12:00")))).copy(held = Map(OperatorId(0) -> rows))
    assert(sentence(waiting).endsWith(
      " It holds 3 rows: the first is emitted once an event time reaches 1970-01-01T12:11:00Z, and the last once one reaches " +
        "1970-01-01T12:30:00Z."))
    val one = waiting.copy(held = Map(OperatorId(0) -> rows.copy(rows = 1)))
    assert(
      sentence(one).endsWith("It holds 1 row: the first is emitted once an event time reaches 1970-01-01T12:11:00Z."))
  }

  test("rows in order are held by the input behind if the one ahead has passed the first of them") {
    val inputs = Seq(input("orders", at(time("12:05"))), input("payments", at(time("12:00"))))
    val waiting =
      situation(both, inputs: _*).copy(held = Map(OperatorId(1) -> Situation.Held(3, time("12:01"), time("12:20"))))
    assert(Diagnosis.of(waiting).code === "HELD_BY_INPUT")
    val none = waiting.copy(held = Map(OperatorId(1) -> Situation.Held(3, time("12:10"), time("12:20"))))
    assert(Diagnosis.of(none).code === "FLOWING")
  }

  test("rows in order that are due wait for the next row if no-data batches are off") {
    val due = situation(counted, input("payments", at(time("12:05"))))
      .copy(held = Map(OperatorId(0) -> Situation.Held(3, time("12:01"), time("12:20"))), runsNoDataBatches = false)
    assert(sentence(due) ===
      "aggregation #0 holds 3 rows. The first could come out, and waits for the next row: no-data batches are off.")
  }

  test("a split that falls idle by itself has nothing to mend") {
    val splits = input("payments", at(time("09:40"))).copy(
      isSplit = true,
      largestClockMillis = Some(time("12:10")),
      last = Some(lagging(Some(time("09:40")), idleAt = Some(time("12:32")))))
    val found = Diagnosis.of(situation(counted, splits))
    assert(found.sentence(words).endsWith("It is left out from 1970-01-01T12:32:00Z on if it stays silent."))
    assert(found.fix(words).isEmpty)
  }

  test("an expected split without a row is named") {
    val splits = input("payments", Watermark.Unknown)
      .copy(isSplit = true, maxEventTimeMillis = Some(time("12:10")), last = Some(lagging(None)))
    assert(sentence(situation(counted, splits)).contains("whose split \"pl-7\" has had no row yet."))
  }

  test("an input with marks as clocks waits for a writer, or for a mark that will not be passed") {
    val noted = input("orders", Watermark.Unknown).copy(isSplit = true, notedIn = Some("/orders/_tidemark"))
    assert(sentence(situation(aggregation(0, origin("orders", 1), 1), noted)) ===
      "Nothing comes out: aggregation #0 waits for \"orders\", and no writer has noted a time in \"/orders/_tidemark\" yet.")
    def of(writer: Situation.Split) = Diagnosis.of(situation(
      aggregation(0, origin("orders", 1), 1),
      noted.copy(last = Some(writer), largestClockMillis = writer.clockMillis)))
    assert(of(lagging(None)).sentence(words).contains("whose writer \"pl-7\" has noted no time yet."))
    // The only writer is not behind any other.
    val fault = Situation.Fault("A mark is missing.", "noting under another name")
    val stuck = lagging(Some(time("09:40"))).copy(fault = Some(fault))
    assert(of(stuck).sentence(words) ===
      "aggregation #0 waits for \"orders\", whose writer \"pl-7\" holds it. A mark is missing.")
    assert(of(stuck).fix(words) === Some(fault.fix) && of(stuck).isTrouble)
    // A writer may note times that Spark counts as those of nulls.
    assert(Diagnosis.of(situation(
      counted,
      noted.copy(
        name = named("payments"),
        watermark = at(0),
        maxEventTimeMillis = Some(0L)))).code === "FLOWING")
  }

  test("of two inputs the one behind is named, and how far the other one is") {
    val held = situation(both, input("orders", at(time("12:10"))), input("payments", at(time("09:40"))))
      .copy(dueMillis = due(1, "10:00"))
    assert(sentence(held) ===
      "Nothing comes out: aggregation #1 waits for \"payments\", which stands at 1970-01-01T09:40:00Z. " +
      "\"orders\" is at 1970-01-01T12:10:00Z, 2 hours 30 minutes ahead.")
  }

  test("without a known window, inputs apart by less than the delay do not hold each other") {
    def apart(millis: Long) =
      Diagnosis.of(situation(
        both,
        input("orders", at(time("12:00") + millis)),
        input("payments", at(time("12:00"))))).code
    assert(apart(minutes(10)) === "FLOWING")
    assert(apart(minutes(10) + 1) === "HELD_BY_INPUT")
  }

  test("a join that waits for an idle side says so") {
    val joined = situation(join, silent("payments", "09:40", "10:00"), input("orders", at(time("12:10"))))
    assert(Diagnosis.of(joined) ===
      Verdict.JoinWaitsForIdle(Verdict.Operator("join #0"), named("payments"), Some(time("09:40"))))
  }

  test("when all inputs are silent, the sentence says since when") {
    val paused = situation(both, silent("orders", "12:10", "12:21"), silent("payments", "09:40", "12:22"))
    assert(sentence(paused) ===
      "All inputs of aggregation #1 are silent since 1970-01-01T12:22:00Z. Their watermarks stay at " +
      "1970-01-01T12:10:00Z until a row arrives.")
    assert(Diagnosis.of(paused).fix(words).exists(_.contains("when_all=\"advance\"")))
    val advancing = situation(counted, silent("payments", "09:40", "12:22").copy(advances = true))
    assert(
      sentence(advancing).endsWith("The watermark is at 1970-01-01T09:40:00Z and follows the clock, less the delay."))
    assert(Diagnosis.of(advancing).fix(words).isEmpty)
  }

  test("when all rows of a batch were late, that comes before what holds results back") {
    val all = situation(both, input("orders", at(time("12:10"))), input("payments", Watermark.Unknown))
      .copy(lastRows = Map(left(1) -> Situation.Rows(5000, 5000, 3 * 3600 * 1000L)))
    assert(sentence(all) ===
      "All 5,000 rows of the last batch were late at aggregation #1, by up to 3 hours, and were dropped.")
    val some = all.copy(lastRows = Map(left(1) -> Situation.Rows(5001, 5000, 3 * 3600 * 1000L)))
    assert(Diagnosis.of(some).code === "NO_EVENT_TIME")
  }

  test("an event time of the far future is the reason why all rows are late") {
    val year2100 = 4102444800000L
    val future = input("payments", at(year2100 - minutes(10)))
    val late = situation(counted, future).copy(lastRows = Map(left(0) -> Situation.Rows(7, 7, year2100)))
    assert(Diagnosis.of(late).code === "FAR_AHEAD")
    assert(sentence(late).contains("2100-01-01T00:00:00Z, 130 years 31 days ahead of the wall clock"))
    assert(Diagnosis.of(late).fix(words).exists(_.contains("tidemark.correct(checkpoint, key=\"payments\")")))
    // Rows of the future that are not late are what the query is about.
    assert(Diagnosis.of(late.copy(lastRows = Map.empty)).code === "FLOWING")
  }

  test("a clock of the far future is told before the others seem to be behind") {
    val year2100 = 4102444800000L
    val today = input("payments", at(time("12:00")))
    val split =
      today.copy(isSplit = true, largestClockMillis = Some(year2100), last = Some(lagging(Some(time("12:00")))))
    assert(sentence(situation(counted, split)) ===
      "A wrong event time has moved a split of \"payments\" to 2100-01-01T00:00:00Z, 130 years 31 days ahead of the wall " +
      "clock. The watermark of aggregation #0 follows as soon as nothing else holds it, and then every row is late.")
    assert(Diagnosis.of(situation(counted, split.copy(notedIn = Some("/orders/_tidemark")))).code === "HELD_BY_SPLIT")
    val found = Diagnosis.of(situation(both, input("orders", at(year2100)), today))
    assert(found === Verdict.ClockFarAhead(Verdict.Operator("aggregation #1"), named("orders"), false, year2100, now))
    assert(found.fix(words).exists(_.contains("key=\"orders\"")))
    // If all clocks are that far ahead, the query is about the future.
    val future = situation(both, input("orders", at(year2100)), input("payments", at(year2100)))
    assert(Diagnosis.of(future).code === "FLOWING")
  }

  test("a join below an aggregation that waits for an idle side says so") {
    val windows = aggregation(1, join, 1)
    val joined = situation(windows, silent("payments", "09:40", "10:00"), input("orders", at(time("12:10"))))
    assert(Diagnosis.of(joined) ===
      Verdict.JoinWaitsForIdle(Verdict.Operator("join #0"), named("payments"), Some(time("09:40"))))
  }

  test("a window that is complete waits for a row if no-data batches are off") {
    val off = situation(counted, input("payments", at(time("13:00"))))
      .copy(dueMillis = due(0, "13:00"), runsNoDataBatches = false)
    assert(Diagnosis.of(off).code === "NO_DATA_BATCHES_OFF")
    assert(Diagnosis.of(off.copy(runsNoDataBatches = true)).code === "FLOWING")
  }

  test("in complete mode nothing waits") {
    val complete = situation(counted, input("payments", Watermark.Unknown)).copy(emitsAll = true)
    assert(Diagnosis.of(complete) === Verdict.EmitsAll(Verdict.Operator("aggregation #0")))
  }

  test("a join side without a time bound is kept for ever") {
    val unbounded = join.copy(right = paymentsSide.copy(bound = None, activeOut = PlanShape.ActiveOut.Unbounded))
    val found = Diagnosis.of(situation(unbounded, input("orders", at(100)), input("payments", at(100))))
    assert(found === Verdict.NeverEvicts(Verdict.Operator("join #0"), "right"))
  }

  test("an operator that emits immediately is said to keep its state") {
    val deduplication = counted.copy(label = "deduplication", emitsAtOnce = true)
    assert(sentence(situation(deduplication, input("payments", Watermark.Unknown))) ===
      "State is not evicted: deduplication #0 waits for \"payments\", which has had no row with an event time yet.")
    assert(sentence(situation(deduplication, input("payments", at(time("12:10"))))).startsWith(
      "deduplication #0 has evicted its state up to 1970-01-01T12:10:00Z"))
  }

  test("a query that flows says which event time emits its next window") {
    val flows = situation(counted, input("payments", at(time("12:10")))).copy(dueMillis = due(0, "13:00"))
    assert(sentence(flows) ===
      "aggregation #0 has emitted what was due up to 1970-01-01T12:10:00Z, 10 minutes behind the latest event time of " +
      "\"payments\". The next window ends at 1970-01-01T13:00:00Z and is emitted once an event time reaches " +
      "1970-01-01T13:10:00Z.")
  }

  test("of two operators side by side the one behind is named") {
    val apart = PlanShape.Union(
      "union",
      None,
      Seq(aggregation(0, origin("orders", 1), 1), aggregation(1, origin("payments", 2), 2)),
      Nil)
    val found = Diagnosis.of(situation(apart, input("orders", at(time("12:10"))), input("payments", at(time("12:00")))))
    assert(found.sentence(words).startsWith("aggregation #1 has emitted"))
  }

  test("times are in the session's zone, with their offset") {
    val newYork = new Words(java.time.ZoneId.of("America/New_York"))
    assert(newYork.at(1700000000000L) === "2023-11-14T17:13:20-05:00")
    assert(newYork.at(1700000000001L) === "2023-11-14T17:13:20.001-05:00")
    assert(newYork.at(Long.MaxValue) === s"${Long.MaxValue} ms")
  }

  test("names are on one line, whatever is in them") {
    assert(words.name("a\nb\u202e\"\\\u0000") === "\"a\\u000ab\\u202e\\\"\\\\\\u0000\"")
    assert(words.name("\ud83d\ude00") === "\"\ud83d\ude00\"")
    assert(words.name("x" * 10000) === "\"" + "x" * 60 + "\"...")
  }

  test("lengths of time have their two largest units") {
    assert(Words.length(0) === "0 ms")
    assert(Words.length(999) === "999 ms")
    assert(Words.length(3600000) === "1 hour")
    assert(Words.length(2 * 86400000L + 3 * 3600000L + 5000) === "2 days 3 hours")
    assert(Words.length(86400000L + 5000) === "1 day")
  }
}
