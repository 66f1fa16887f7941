package io.tidemark.core.memory

import io.tidemark.core.Watermark
import io.tidemark.core.splits.OnReturn
import io.tidemark.core.support.{OneOrigin, Plans}

import OneOrigin.name
import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** An origin's watermark from its splits, batch by batch, where silence counts whichever split has rows ([[PauseSuite]] has the other
  * rule); times in ms, the delay is 10.
  */
class OriginSuite extends AnyFunSuite {
  private val origin = named("o")
  private val rules =
    OriginRules(delayMillis = 10, splitBy = Seq("s"), idleAfterMillis = Some(100), whenIdle = WhenIdle.Rise)
  private val whole = rules.copy(splitBy = Nil)

  /** A query of this origin alone. */
  private def At(rules: OriginRules, entry: WatermarkEntry = WatermarkEntry.initial(Nil, -1, 0, 0)) =
    OneOrigin(origin, rules, entry)

  test("the watermark is the smallest clock of the splits") {
    val at = At(rules).batch(0, 1, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(2) == Plans.at(190))
    assert(at.batch(2, 3, Seq("b" -> 700)).watermark(4) == Plans.at(490))
  }

  test("a new split that is behind holds the watermark, but does not move it back") {
    val at = At(rules).batch(0, 1, Seq("a" -> 500)).batch(2, 3, Seq("a" -> 600, "b" -> 200))
    assert(at.watermark(4) == Plans.at(490))
    assert(at.batch(4, 5, Seq("b" -> 590)).watermark(6) == Plans.at(580))
  }

  test("null is a split of its own") {
    assert(At(rules).batch(0, 1, Seq("null" -> 500, (null, 200))).watermark(2) == Plans.at(190))
  }

  test("idle time counts from the end of the last batch with rows of the split") {
    val at = At(rules).batch(0, 50, Seq("a" -> 500, "b" -> 200)).batch(60, 60, Seq("a" -> 600))
    assert(at.watermark(149) == Plans.at(190))
    assert(at.watermark(150) == Plans.at(590))
  }

  test("an idle split with new rows is active immediately and holds the watermark until it has caught up") {
    val silent = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
    assert(silent.standing == Plans.at(590))
    val returned = silent.batch(110, 110, Seq("b" -> 300, "a" -> 700))
    assert(returned.standing == Plans.at(590))
    assert(returned.batch(111, 111, Seq("b" -> 650)).standing == Plans.at(640))
  }

  test("an idle split that returns with on_return=catch_up is left out until it has caught up") {
    val silent = At(rules.copy(onReturn = OnReturn.CatchUp))
      .batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
    val returned = silent.batch(110, 110, Seq("b" -> 300, "a" -> 700))
    assert(returned.standing == Plans.at(690))
    assert(returned.batch(111, 111, Seq("b" -> 720, "a" -> 900)).standing == Plans.at(710))
  }

  test("an origin whose splits are all idle is idle at the largest clock, whichever split became idle first") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(100) == Watermark.Idle(Some(490)))
    assert(at.batch(50, 50, Seq("b" -> 210)).batch(100, 100).watermark(150) == Watermark.Idle(Some(490)))
    assert(at.batch(50, 50, Seq("a" -> 510)).batch(100, 100).watermark(150) == Watermark.Idle(Some(500)))
  }

  test("a split with unread rows is not idle, whatever the clock shows") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(1000, Some(Unread.In(Seq(name("b"))))) == Plans.at(190))
    val after = at.batch(1000, 1001, Seq("a" -> 600), unread = Some(Unread.In(Seq(name("b")))))
    assert(after.watermark(1002) == Plans.at(190))
  }

  test("an idle split holds the watermark again from the batch that reads its rows") {
    val silent = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
    assert(silent.state.splits.idle == 1)
    val reading = silent.batch(120, 130, Seq("a" -> 900), unread = Some(Unread.In(Seq(name("b")))))
    assert(reading.state.splits.idle == 0)
    assert(reading.standing == Plans.at(590))
  }

  test("splits with rows in every batch are not idle, however rarely a batch runs") {
    val reading = Some(Unread.Somewhere)
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(300, reading) == Plans.at(190))
    val slow = at.batch(300, 900, Seq("a" -> 900, "b" -> 210), unread = reading)
    assert(slow.watermark(1000, reading) == Plans.at(200))
    // Splits are idle if no rows are unread.
    assert(slow.watermark(1000) == Watermark.Idle(Some(890)))
  }

  test("a split without rows is left out one batch late, because the rows of the current batch are not known yet") {
    val reading = Some(Unread.Somewhere)
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200), unread = reading)
      .batch(60, 60, Seq("a" -> 600), unread = reading).batch(110, 110, Seq("a" -> 700), unread = reading)
    assert(at.standing == Plans.at(190))
    assert(at.watermark(120, reading) == Plans.at(690))
  }

  test("no split becomes idle while an admission limit holds rows back") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200), waiting = true)
    val reading = Some(Unread.Somewhere)
    assert(at.watermark(1000, reading) == Plans.at(190))
    assert(at.batch(1000, 1000, Seq("a" -> 600), unread = reading).watermark(1001, reading) == Plans.at(590))
    // No rows are unread: the query is up to date, whatever the limit was.
    assert(at.watermark(1000) == Watermark.Idle(Some(490)))
  }

  test("an input without splits becomes idle as a whole, but not while it has unread rows") {
    val at = At(whole).batch(0, 0, Seq("" -> 500))
    assert(at.watermark(99) == Plans.at(490))
    assert(at.watermark(100) == Watermark.Idle(Some(490)))
    assert(at.watermark(100, Some(Unread.Somewhere)) == Plans.at(490))
  }

  test("an input becomes idle when a filter drops all its rows, although every batch reads rows") {
    val reading = Some(Unread.Somewhere)
    for (rule <- Seq(rules, whole)) {
      val filtered = At(rule).batch(0, 0, Seq("a" -> 500), unread = reading)
        .batch(60, 60, unread = reading).batch(110, 110, unread = reading)
      assert(filtered.standing == Plans.at(490))
      assert(filtered.watermark(120, reading) == Watermark.Idle(Some(490)))
      val never =
        At(rule).batch(0, 0, unread = reading).batch(60, 60, unread = reading).batch(110, 110, unread = reading)
      assert(never.watermark(120, reading) == Watermark.Idle(None))
    }
  }

  test("an input that never had a row is idle when the idle time has passed since the first batch") {
    for (rule <- Seq(rules, whole)) {
      val at = At(rule).batch(0, 10)
      assert(at.watermark(109) == Watermark.Unknown)
      assert(at.watermark(110) == Watermark.Idle(None))
    }
  }

  test("expected splits hold the watermark until they have rows or are idle") {
    val at = At(rules.copy(expected = Seq("a", "b").map(name))).batch(0, 10, Seq("a" -> 500))
    assert(at.watermark(20) == Watermark.Unknown)
    assert(at.watermark(110) == Watermark.Idle(Some(490)))
    assert(at.batch(60, 60, Seq("a" -> 600)).watermark(110) == Plans.at(590))
    assert(at.batch(60, 60, Seq("b" -> 100)).watermark(61) == Plans.at(90))
  }

  test("splits that the source lists hold the watermark before their first row") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500), known = Seq("a", "b"))
    assert(at.watermark(1) == Watermark.Unknown)
    assert(at.state.splits.size == 2)
  }

  test("an idle origin with when_all=advance follows the clock in steps of the idle time") {
    val at = At(rules.copy(whenIdle = WhenIdle.Advance)).batch(1000, 1000, Seq("a" -> 500))
    assert(at.watermark(1099) == Plans.at(490))
    assert(at.watermark(1100) == Watermark.Idle(Some(1090)))
    val advanced = at.batch(1100, 1100)
    assert(advanced.watermark(1150) == Watermark.Idle(Some(1090)))
    assert(advanced.watermark(1200) == Watermark.Idle(Some(1190)))
    assert(advanced.batch(1150, 1150, Seq("a" -> 600)).standing == Plans.at(1090))
  }

  test("a system clock that goes back makes no split idle and does not reset the idle time") {
    val at = At(rules).batch(1000, 1000, Seq("a" -> 500, "b" -> 200)).batch(400, 300, Seq("a" -> 600))
    assert(at.watermark(500) == Plans.at(190))
    assert(at.watermark(1099) == Plans.at(190))
    assert(at.watermark(1100) == Watermark.Idle(Some(590)))
  }

  test("a restarted query makes the same decision") {
    val at = At(rules.copy(onReturn = OnReturn.CatchUp))
      .batch(0, 0, Seq("a" -> 500, "b" -> 200, "c" -> 300)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
      .batch(110, 110, Seq("b" -> 300, "a" -> 700), waiting = true)
    for (now <- Seq(110L, 200L, 210L, 5000L);
      unread <- Seq(None, Some(Unread.Somewhere), Some(Unread.In(Seq(name("c"))))))
      assert(at.restarted.watermark(now, unread) == at.watermark(now, unread))
    assert(at.restarted.entry == at.entry)
  }

  test("an origin that is split differently after a restart keeps its watermark and waits for no old split") {
    val at = At(rules).batch(0, 1, Seq("a" -> 500, "b" -> 200))
    val other = At(whole, at.entry.fitting(Map(origin -> whole)))
    assert(other.standing == Plans.at(190))
    assert(other.batch(2, 3, Seq("" -> 700)).watermark(4) == Plans.at(690))
    assert(at.entry.fitting(Map(origin -> rules)) == at.entry)
    val site = rules.copy(splitBy = Seq("site"))
    val elsewhere = At(site, at.entry.fitting(Map(origin -> site)))
    assert(elsewhere.watermark(5000, Some(Unread.Somewhere)) == Plans.at(190))
    assert(elsewhere.batch(5000, 5000, Seq("x" -> 900)).watermark(5001) == Plans.at(890))
  }

  test("an idle split holds the watermark again after idle_after is removed") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(100, 100, Seq("a" -> 600)).batch(150, 150, Seq())
    assert(at.standing == Plans.at(590))
    val waits = rules.copy(idleAfterMillis = None)
    val awake = At(waits, at.entry.fitting(Map(origin -> waits)))
    assert(awake.batch(151, 151, Seq("a" -> 900)).standing == Plans.at(590))
    assert(awake.batch(151, 151, Seq("a" -> 900, "b" -> 700)).standing == Plans.at(690))
  }

  test("a split without rows holds the watermark forever if idle_after is not set") {
    val at = At(rules.copy(idleAfterMillis = None)).batch(0, 1, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(Long.MaxValue / 2) == Plans.at(190))
  }
}
