package io.tidemark.core.why

import io.tidemark.core.{OperatorId, Watermark}
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.support.Plans._
import io.tidemark.core.support.Situations

import org.scalatest.funsuite.AnyFunSuite

/** Which reason is given if several are true at the same time. */
class DiagnosisSuite extends AnyFunSuite with Situations {
  test("a query without a stateful operator waits for nothing") {
    assert(Diagnosis.of(situation(origin("payments", 1), input("payments", at(0)))) === Verdict.NoOperatorWaits)
  }

  test("rows that wait to come out in order are counted, and the sentence says until when") {
    val rows = Situation.Held(3, time("12:01"), time("12:20"))
    val waiting = situation(counted, input("payments", at(time("12:00")))).copy(held = Map(OperatorId(0) -> rows))
    assert(sentence(waiting).endsWith(
      " It holds 3 rows: the first is emitted once an event time reaches 1970-01-01T12:11:00Z, and the last once one reaches " +
        "1970-01-01T12:30:00Z."))
    val single = waiting.copy(held = Map(OperatorId(0) -> rows.copy(rows = 1)))
    assert(
      sentence(
        single).endsWith("It holds 1 row: the first is emitted once an event time reaches 1970-01-01T12:11:00Z."))
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

  test("a join that waits for an idle side says so") {
    val joined = situation(join, silent("payments", "09:40", "10:00"), input("orders", at(time("12:10"))))
    assert(Diagnosis.of(joined) ===
      InputVerdict.JoinWaitsForIdle(
        Verdict.Operator("join #0", Verdict.Stays.RowsWithoutMatch),
        "join #0",
        named("payments"),
        Some(time("09:40")),
        Some(minutes(10))))
    assert(sentence(joined).startsWith("Rows without a match do not come out: \"payments\" is idle with its "))
    // A row of the other side would not help, even if that is idle, too.
    val allIdle = situation(join, silent("payments", "09:40", "10:00"), silent("orders", "12:10", "12:21"))
    assert(Diagnosis.of(allIdle) === Diagnosis.of(joined))
    val following = silent("payments", "09:40", "10:00").copy(followsInJoins = true)
    assert(Diagnosis.of(situation(join, following, silent("orders", "12:10", "12:21"))).code === "ALL_SILENT")
  }

  test("the way out of a join that waits for an input keeps what is set, and lets the join go on") {
    def fix(payments: Situation.Origin) =
      Diagnosis.of(situation(join, payments, input("orders", at(time("12:10"))))).fix(words).get
    val idle = "idle=tidemark.Idle(after=\"10 minutes\", at_join=\"follow\") on \"payments\""
    assert(fix(silent("payments", "09:40", "10:00")) === s"setting $idle, if its rows after a silence may be late")
    assert(fix(input("payments", at(time("09:40")))) ===
      s"setting $idle, if it may be silent and its rows after a silence may be late")
    // Writers are idle by their word, too.
    val byWord = silent("payments", "09:40", "10:00").copy(idleAfterMillis = None, notedIn = Some("/lake/_tidemark"))
    assert(fix(byWord).startsWith("setting idle=tidemark.Idle(at_join=\"follow\") on \"payments\""))
    assert(fix(silent("payments", "09:40", "10:00").copy(idleAfterMillis = Some(100001000))).contains(
      "after=\"100001 seconds\""))
    val seconds = input("payments", Watermark.Unknown).copy(idleAfterMillis = Some(90500))
    assert(fix(seconds).endsWith(
      ", or by setting idle=tidemark.Idle(after=\"90500 milliseconds\", at_join=\"follow\") on \"payments\""))
  }

  test("the next window of an operator with several inputs names the one that it waits for") {
    val inputs = Seq(input("orders", at(time("12:05"))), input("payments", at(time("12:00"))))
    assert(sentence(situation(both, inputs: _*).copy(due = due(1, "13:00"))).endsWith(
      "is emitted once an event time of \"payments\" reaches 1970-01-01T13:10:00Z, if no other input is behind then."))
    val splits = input("payments", at(time("12:00"))).copy(isSplit = true)
    assert(sentence(situation(counted, splits).copy(due = due(0, "13:00", isInState = false))).endsWith(
      "If it has rows, it is emitted once every split that is not idle has reached 1970-01-01T13:10:00Z."))
  }

  test("when all inputs are silent, the sentence says since when") {
    val paused = situation(both, silent("orders", "12:10", "12:21"), silent("payments", "09:40", "12:22"))
    assert(sentence(paused) ===
      "All inputs of aggregation #1 are silent since 1970-01-01T12:22:00Z. Its watermark stays at " +
      "1970-01-01T12:10:00Z while nothing arrives.")
    assert(Diagnosis.of(paused).fix(words).exists(_.contains("when_all=\"advance\"")))
    // Rows without a time are none.
    val untimed = situation(counted, input("payments", Watermark.Idle(None)))
    assert(Diagnosis.of(untimed).code === "NO_EVENT_TIME")
    assert(Diagnosis.of(untimed).fix(words) ===
      Some("checking that rows arrive there and that their event time is not null"))
    val advancing = situation(counted, silent("payments", "09:40", "12:22").copy(advances = true))
    assert(sentence(advancing).endsWith(
      " The watermark is at 1970-01-01T09:40:00Z. It follows the clock, less the delay, as soon as that lets something out."))
    assert(Diagnosis.of(advancing).fix(words).isEmpty)
    val withoutTime = situation(counted, input("payments", Watermark.Idle(None)).copy(advances = true))
    assert(sentence(withoutTime) ===
      "All inputs of aggregation #0 are silent. The watermark follows the clock, less the " +
      "delay, as soon as that lets something out.")
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
    val single = late.copy(lastRows = Map(left(0) -> Situation.Rows(1, 1, year2100)))
    assert(sentence(single).startsWith("Everything is late: the only row of the last batch was dropped at "))
    // Rows of the future that are not late may be what the query is about.
    val flowing = Diagnosis.of(late.copy(lastRows = Map.empty))
    assert(flowing.code === "FLOWING" && !flowing.isTrouble)
    assert(flowing.sentence(
      words).contains(
      "Its watermark is 130 years 31 days ahead of the wall clock: rows with a time of today are late."))
    assert(flowing.fix(words).exists(_.endsWith("max_ahead on \"payments\", if the event time there is wrong")))
  }

  test("an event time that would be one of today in another unit is told, with the function that reads it") {
    def of(eventTime: Long, now: Long = 1714564800000L) =
      Diagnosis.of(situation(counted, input("payments", at(eventTime - minutes(10)))).copy(nowMillis = now))
    val seconds = of(1714564800L)
    assert(seconds.code === "WRONG_UNIT" && seconds.isTrouble)
    assert(seconds.sentence(words) ===
      "aggregation #0 uses an event time of \"payments\" that seems to be in another unit: 1970-01-20T20:16:04.800Z. It " +
      "would be 2024-05-01T12:00:00Z if seconds were read as milliseconds, or milliseconds as microseconds.")
    assert(seconds.fix(words) === Some("making the column with timestamp_seconds or timestamp_millis"))
    val millis = of(1714564800000000L)
    assert(millis.sentence(words).contains(": 1714564800000000 ms. It would be 2024-05-01T12:00:00Z if milliseconds"))
    assert(millis.fix(words).exists(_.startsWith(
      "making the column with timestamp_millis or timestamp_micros, and stopping the query, taking the watermark back")))
    // Times of a test, of the last century and of the next one are as people mean them.
    for (time <- Seq(1000000L, 1714564799000L, 500000000000L, 4102444800000L)) assert(of(time).code === "FLOWING")
  }

  test("the watermark that is taken back goes to where it was before, if that is known") {
    val year2100 = 4102444800000L
    val late = situation(counted, input("payments", at(year2100)).copy(lastGoodMillis = Some(time("11:50"))))
      .copy(lastRows = Map(left(0) -> Situation.Rows(7, 7, year2100)))
    assert(Diagnosis.of(late).fix(words).exists(
      _.contains("tidemark.correct(checkpoint, key=\"payments\", to=\"1970-01-01T11:50:00Z\")")))
  }

  test("the event time that lets a window out is found through the range of a join and the other input") {
    val windows = aggregation(1, join, 1)
    val inputs = Seq(input("orders", at(time("12:05"))), input("payments", at(time("12:00"))))
    val found = Diagnosis.of(situation(windows, inputs: _*).copy(due = due(1, "12:30")))
    val text = found.sentence(words)
    val said = "reaches (1970-01-01T[0-9:.]+Z)".r.findFirstMatchIn(text).get.group(1)
    val reached = java.time.Instant.parse(said).toEpochMilli - minutes(10)
    def out(payments: Long) = Diagnosis.of(
      situation(windows, input("orders", at(time("20:00"))), input("payments", at(payments)))
        .copy(due = due(1, "12:30"))).sentence(words).contains("The first window")
    assert(out(reached - 1) && !out(reached), text)
  }

  test("a join below an aggregation that waits for an idle side says so") {
    for (isInner <- Seq(true, false)) {
      val windows = aggregation(1, join.copy(emitsAtOnce = isInner), 1)
      val joined = situation(windows, silent("payments", "09:40", "10:00"), input("orders", at(time("12:10"))))
      // Whatever comes out of the join, it is the windows that do not.
      val matched = joined.copy(haveEmitted = Set(OperatorId(0)))
      assert(Diagnosis.of(matched).code === "JOIN_WAITS_FOR_IDLE")
      assert(sentence(matched).startsWith(
        "Nothing comes out: \"payments\" is idle with its watermark at 1970-01-01T09:40:00Z, and join #0 waits for it, because "))
    }
  }

  test("a window that is complete waits for a row if no-data batches are off") {
    val off = situation(counted, input("payments", at(time("13:00"))))
      .copy(due = due(0, "13:00"), runsNoDataBatches = false)
    assert(Diagnosis.of(off).code === "NO_DATA_BATCHES_OFF")
    val on = off.copy(runsNoDataBatches = true)
    assert(Diagnosis.of(on).code === "FLOWING")
    // The next one is not known before the next batch.
    assert(!sentence(on).contains("next window"))
  }

  test("in complete mode nothing waits") {
    val complete = situation(counted, input("payments", Watermark.Unknown)).copy(emitsAll = true)
    assert(Diagnosis.of(complete) === Verdict.EmitsAll(Verdict.Operator("aggregation #0")))
  }

  test("a join side without a time bound is kept forever") {
    val unbounded = join.copy(right = paymentsSide.copy(bound = None, activeOut = PlanShape.ActiveOut.Unbounded))
    val found = Diagnosis.of(situation(unbounded, input("orders", at(100)), input("payments", at(100))))
    assert(found === Verdict.NeverEvicts(Verdict.Operator("join #0", Verdict.Stays.RowsWithoutMatch), Some("right")))
  }

  test("an operator that emits immediately is said to keep its state") {
    val deduplication = counted.copy(label = "deduplication", emitsAtOnce = true)
    assert(sentence(situation(deduplication, input("payments", Watermark.Unknown))) ===
      "State is not evicted: deduplication #0 waits for \"payments\", which has had no row with an event time yet.")
    assert(sentence(situation(deduplication, input("payments", at(time("12:10"))))).startsWith(
      "deduplication #0 has evicted its state up to 1970-01-01T12:10:00Z"))
    val updates = situation(counted.copy(emitsAtOnce = true), input("payments", at(time("12:10"))))
    assert(sentence(updates.copy(due = due(0, "13:00"))).contains(" is evicted once an event time reaches "))
  }

  test("an operator that has emitted results in this run is said to emit nothing more") {
    val waiting = situation(both, input("orders", at(time("12:10"))), input("payments", at(time("09:40"))))
    assert(sentence(waiting).startsWith("Nothing comes out: aggregation #1 waits for "))
    assert(sentence(waiting.copy(haveEmitted =
      Set(OperatorId(1)))).startsWith("Nothing more comes out: aggregation #1 "))
    assert(sentence(waiting.copy(haveEmitted = Set(OperatorId(0)))).startsWith("Nothing comes out: "))
  }

  test("a query that flows says which event time emits its next window") {
    val flows = situation(counted, input("payments", at(time("12:10")))).copy(due = due(0, "13:00"))
    assert(sentence(flows) ===
      "aggregation #0 has emitted what was due up to 1970-01-01T12:10:00Z, 10 minutes behind the latest event time of " +
      "\"payments\". The first window in its state ends at 1970-01-01T13:00:00Z, and is emitted once an event time reaches " +
      "1970-01-01T13:10:00Z.")
    assert(sentence(flows.copy(due = due(0, "13:00", isInState = false))).endsWith(
      "\"payments\". The next window ends at 1970-01-01T13:00:00Z. If it has rows, it is emitted once an event time reaches " +
        "1970-01-01T13:10:00Z."))
  }

  test("without no-data batches, a query whose next window is not known says that a row has to come") {
    val flows = situation(counted, input("payments", at(time("12:10")))).copy(runsNoDataBatches = false)
    assert(sentence(flows) ===
      "aggregation #0 will emit what is due up to 1970-01-01T12:10:00Z, 10 minutes behind the latest event time of " +
      "\"payments\". The next row does that: no-data batches are off.")
    assert(sentence(flows.copy(due = due(0, "13:00"))).startsWith("aggregation #0 has emitted what was due up to"))
  }

  test("a query that flows by noted times says which time its writers have to note") {
    val noted = input("payments", at(time("12:10"))).copy(isSplit = true, notedIn = Some("/lake/payments/_tidemark"))
    val rows = Situation.Held(3, time("12:11"), time("12:20"))
    val waiting = situation(counted, noted).copy(held = Map(OperatorId(0) -> rows))
    assert(sentence(waiting).endsWith(
      "the first is emitted once its writers have noted 1970-01-01T12:21:00Z, and the last once they have noted " +
        "1970-01-01T12:30:00Z."))
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
}
