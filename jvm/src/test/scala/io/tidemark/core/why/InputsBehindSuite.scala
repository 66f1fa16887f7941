package io.tidemark.core.why

import io.tidemark.core.Watermark
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.support.Plans._
import io.tidemark.core.support.Situations
import io.tidemark.core.why.Situation.LeftOut

import org.scalatest.funsuite.AnyFunSuite

/** Which input, split or writer is named when an operator waits for it. */
class InputsBehindSuite extends AnyFunSuite with Situations {
  test("an input without a row holds the operator that reads it") {
    val found = Diagnosis.of(situation(both, input("orders", at(time("12:10"))), input("payments", Watermark.Unknown)))
    assert(found === InputVerdict.NoEventTime(Verdict.Operator("aggregation #1"), named("payments"), hasRows = false))
    assert(found.sentence(words) ===
      "Nothing comes out: aggregation #1 waits for \"payments\", which has had no row with an event time yet.")
  }

  test("an input whose largest event time is that of a null is said to have no event time") {
    val nulls = input("payments", at(-minutes(10)))
    assert(Diagnosis.of(situation(counted, nulls)) ===
      InputVerdict.NoEventTime(Verdict.Operator("aggregation #0"), named("payments"), hasRows = true))
  }

  test("a split that is behind is named when the furthest one has passed the next window") {
    val splits = input("payments", at(time("09:40")))
      .copy(isSplit = true, largestClockMillis = Some(time("12:10")), last = Some(lagging(Some(time("09:40")))))
    val held = situation(counted, splits).copy(due = due(0, "10:00"))
    assert(sentence(held) ===
      "Nothing comes out: aggregation #0 waits for \"payments\", whose split \"pl-7\" is at 1970-01-01T09:40:00Z, " +
      "2 hours 30 minutes behind the furthest. It was last active at 1970-01-01T12:22:00Z. " +
      "It has no idle_after, so it holds forever if nothing comes. The first window in its state ends at " +
      "1970-01-01T10:00:00Z, and is emitted once every split that is not idle has reached 1970-01-01T10:10:00Z.")
    assert(Diagnosis.of(held).fix(words).exists(_.contains("idle_after")))
    val once = Diagnosis.of(situation(counted, splits.copy(seenOnce = Some(936))).copy(due = due(0, "10:00")))
    assert(once.sentence(words).endsWith("Nearly all of its 936 splits have had rows in one batch only."))
    assert(once.fix(words).exists(_.contains("by something that has rows again and again")))
    // No window has ended in any split, so nothing is held back.
    assert(Diagnosis.of(held.copy(due = due(0, "13:00"))).code === "FLOWING")
  }

  test("a split that is behind and has rows is said to catch up") {
    val slow = lagging(Some(time("09:40"))).copy(isLive = true)
    val splits = input("payments", at(time("09:40")))
      .copy(isSplit = true, largestClockMillis = Some(time("12:10")), last = Some(slow))
    val held = Diagnosis.of(situation(counted, splits).copy(due = due(0, "10:00")))
    assert(
      held.sentence(words).contains("2 hours 30 minutes behind the furthest. It had rows in the last batch that read " +
        "any, so results come out as it catches up. It has no idle_after, so it holds forever if nothing comes."))
    assert(held.fix(words).exists(_.startsWith("letting it catch up")))
  }

  test("a split that becomes idle by itself has nothing to mend") {
    def held(leftOutAt: String, whileOthers: Boolean) = situation(
      counted,
      input("payments", at(time("09:40"))).copy(
        isSplit = true,
        largestClockMillis = Some(time("12:10")),
        last = Some(lagging(Some(time("09:40")), Some(LeftOut(time(leftOutAt), whileOthers))))))
    val soon = held("20:10", whileOthers = true)
    assert(sentence(soon).endsWith(
      "It is left out from 1970-01-01T20:10:00Z on if it stays silent and others have rows until then."))
    assert(Diagnosis.of(soon).fix(words).isEmpty)
    assert(sentence(held("20:10", whileOthers = false)).endsWith("20:10:00Z on if it stays silent."))
    assert(sentence(held("19:59", whileOthers = true)).endsWith(
      "It is left out in a later batch if it stays silent and others have rows until then."))
    val never = soon.copy(countsSilence = false)
    assert(sentence(never).endsWith(
      "Silence counts neither in this run, which reads what had arrived at its start, nor between runs."))
    assert(Diagnosis.of(never).fix(words).exists(_.startsWith("setting spark.tidemark.downtimeIsSilence to true, if ")))
  }

  test("an input that becomes idle by itself has nothing to mend, but where a join waits for it") {
    def held(shape: PlanShape, idleAfter: Option[Long]) = situation(
      shape,
      input("orders", at(time("12:10"))),
      input("payments", at(time("09:40"))).copy(
        idleAfterMillis = idleAfter,
        leftOut = idleAfter.map(_ => LeftOut(time("20:10"), whileOthers = false))))
    def fix(of: Situation) = Diagnosis.of(of).fix(words)
    val united = held(both, Some(minutes(10)))
    assert(
      sentence(united).endsWith(" ahead. \"payments\" is left out from 1970-01-01T20:10:00Z on if it stays silent."))
    assert(fix(united).isEmpty)
    val joined = held(join, Some(minutes(10)))
    assert(sentence(joined).endsWith(" ahead."))
    assert(fix(joined).exists(_.endsWith(
      "at_join=\"follow\") on \"payments\", if it may be silent and its rows after a silence may be late")))
    // Where no silence counts, an idle time alone does not help.
    def counting(of: Situation) = fix(of.copy(countsSilence = false)).get
    assert(counting(united).startsWith("setting spark.tidemark.downtimeIsSilence to true, if "))
    for (of <- Seq(held(both, None), joined))
      assert(counting(of).contains("on \"payments\" and spark.tidemark.downtimeIsSilence to true, if it may be silent"))
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
    // Leaving a writer out loses the rows that it sends without a mark, so that is the last resort.
    assert(of(lagging(None)).fix(words) === Some(
      "starting writer \"pl-7\" again, by tidemark.marks.Marks(\"/orders/_tidemark\").writer(\"pl-7\").end() if it is gone " +
        "for good, or by setting idle_after on \"orders\" if a writer that notes nothing sends no rows either"))
    val topic = situation(
      aggregation(0, origin("orders", 1), 1),
      noted.copy(last = Some(lagging(None)), notedIn = Some("kafka:marks/orders")))
    assert(Diagnosis.of(topic).fix(words).exists(
      _.contains("by tidemark.marks.Marks(\"kafka:marks/orders\", options=settings).writer(\"pl-7\").end() if")))
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
      .copy(due = due(1, "10:00"))
    assert(sentence(held) ===
      "Nothing comes out: aggregation #1 waits for \"payments\", which is at 1970-01-01T09:40:00Z. " +
      "\"orders\" is at 1970-01-01T12:10:00Z, 2 hours 30 minutes ahead. The first window in its state ends at " +
      "1970-01-01T10:00:00Z, and is emitted once an event time of \"payments\" reaches 1970-01-01T10:10:00Z.")
    val silent = input("payments", at(time("09:40"))).copy(lastActiveMillis = Some(time("12:00")))
    assert(sentence(situation(both, input("orders", at(time("12:10"))), silent).copy(due = due(1, "10:00"))).contains(
      "which is at 1970-01-01T09:40:00Z and last had rows at 1970-01-01T12:00:00Z."))
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

  test("a clock of the far future is told before the others seem to be behind") {
    val year2100 = 4102444800000L
    val today = input("payments", at(time("12:00")))
    val split =
      today.copy(
        isSplit = true,
        largestClockMillis = Some(year2100),
        farAhead = Some("pl-9"),
        last = Some(lagging(Some(time("12:00")))))
    assert(sentence(situation(counted, split)) ===
      "A wrong event time has moved split \"pl-9\" of \"payments\" to 2100-01-01T00:00:00Z, 130 years 31 days ahead of the wall " +
      "clock. The watermark of aggregation #0 follows as soon as nothing else holds it, and then every row is late.")
    assert(Diagnosis.of(situation(counted, split.copy(notedIn = Some("/orders/_tidemark")))).code === "HELD_BY_SPLIT")
    val found = Diagnosis.of(situation(both, input("orders", at(year2100)), today))
    assert(found ===
      WrongTime.ClockFarAhead(Verdict.Operator("aggregation #1"), named("orders"), None, year2100, now))
    assert(found.fix(words).exists(_.contains("key=\"orders\"")))
    // If all clocks are that far ahead, the query is about the future.
    val future = situation(both, input("orders", at(year2100)), input("payments", at(year2100)))
    assert(Diagnosis.of(future).code === "FLOWING")
  }
}
