package io.tidemark.core

import io.tidemark.core.memory.{OriginRules, Unread, WatermarkEntry, WhenIdle}
import io.tidemark.core.splits.OnReturn

import OneOrigin.name
import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** An origin's watermark from its splits, batch by batch, where silence counts whoever speaks ([[PauseSuite]] has the other
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

  test("the watermark is the least clock of the splits") {
    val at = At(rules).batch(0, 1, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(2) == Plans.at(190))
    assert(at.batch(2, 3, Seq("b" -> 700)).watermark(4) == Plans.at(490))
  }

  test("a new split that is behind holds the watermark, and does not turn it back") {
    val at = At(rules).batch(0, 1, Seq("a" -> 500)).batch(2, 3, Seq("a" -> 600, "b" -> 200))
    assert(at.watermark(4) == Plans.at(490))
    assert(at.batch(4, 5, Seq("b" -> 590)).watermark(6) == Plans.at(580))
  }

  test("null is a split of its own") {
    assert(At(rules).batch(0, 1, Seq("null" -> 500, (null, 200))).watermark(2) == Plans.at(190))
  }

  test("silence counts from the end of the batch that last had rows of the split") {
    val at = At(rules).batch(0, 50, Seq("a" -> 500, "b" -> 200)).batch(60, 60, Seq("a" -> 600))
    assert(at.watermark(149) == Plans.at(190))
    assert(at.watermark(150) == Plans.at(590))
  }

  test("an idle split that speaks again is active at once and holds the watermark until it has caught up") {
    val silent = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
    assert(silent.standing == Plans.at(590))
    val back = silent.batch(110, 110, Seq("b" -> 300, "a" -> 700))
    assert(back.standing == Plans.at(590))
    assert(back.batch(111, 111, Seq("b" -> 650)).standing == Plans.at(640))
  }

  test("with catch_up it is left out until it has caught up") {
    val silent = At(rules.copy(onReturn = OnReturn.CatchUp))
      .batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
    val back = silent.batch(110, 110, Seq("b" -> 300, "a" -> 700))
    assert(back.standing == Plans.at(690))
    assert(back.batch(111, 111, Seq("b" -> 720, "a" -> 900)).standing == Plans.at(710))
  }

  test("all idle: the largest clock, whichever fell silent first, and the origin is idle") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(100) == Watermark.Idle(Some(490)))
    assert(at.batch(50, 50, Seq("b" -> 210)).batch(100, 100).watermark(150) == Watermark.Idle(Some(490)))
    assert(at.batch(50, 50, Seq("a" -> 510)).batch(100, 100).watermark(150) == Watermark.Idle(Some(500)))
  }

  test("a split with rows to be read is not idle, whatever the clock says") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(1000, Some(Unread.In(Seq(name("b"))))) == Plans.at(190))
    val after = at.batch(1000, 1001, Seq("a" -> 600), unread = Some(Unread.In(Seq(name("b")))))
    assert(after.watermark(1002) == Plans.at(190))
  }

  test("one that was idle is waited for from the batch on that reads it") {
    val silent = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
    assert(silent.state.splits.idle == 1)
    val reading = silent.batch(120, 130, Seq("a" -> 900), unread = Some(Unread.In(Seq(name("b")))))
    assert(reading.state.splits.idle == 0)
    assert(reading.standing == Plans.at(590))
  }

  test("splits that speak in every batch are not idle, however rarely a batch runs") {
    val reading = Some(Unread.Somewhere)
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(300, reading) == Plans.at(190))
    val slow = at.batch(300, 900, Seq("a" -> 900, "b" -> 210), unread = reading)
    assert(slow.watermark(1000, reading) == Plans.at(200))
    // With nothing to read, or of nobody else, silence is what it seems.
    assert(slow.watermark(1000) == Watermark.Idle(Some(890)))
  }

  test("a split that is silent beside others is left out a batch later: what this one reads is not known before") {
    val reading = Some(Unread.Somewhere)
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200), unread = reading)
      .batch(60, 60, Seq("a" -> 600), unread = reading).batch(110, 110, Seq("a" -> 700), unread = reading)
    assert(at.standing == Plans.at(190))
    assert(at.watermark(120, reading) == Plans.at(690))
  }

  test("while an admission limit holds rows back nobody falls silent") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200), waiting = true)
    val reading = Some(Unread.Somewhere)
    assert(at.watermark(1000, reading) == Plans.at(190))
    assert(at.batch(1000, 1000, Seq("a" -> 600), unread = reading).watermark(1001, reading) == Plans.at(590))
    // Nothing more to read: it has been caught up with, whatever the limit was.
    assert(at.watermark(1000) == Watermark.Idle(Some(490)))
  }

  test("an input that is not split falls silent as a whole; while rows are to be read it is not silent yet") {
    val at = At(whole).batch(0, 0, Seq("" -> 500))
    assert(at.watermark(99) == Plans.at(490))
    assert(at.watermark(100) == Watermark.Idle(Some(490)))
    assert(at.watermark(100, Some(Unread.Somewhere)) == Plans.at(490))
  }

  test("rows that a filter drops are read in every batch and are nobody's: their input falls silent") {
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

  test("an input that is never heard of is idle when its time has passed since the first batch") {
    for (rule <- Seq(rules, whole)) {
      val at = At(rule).batch(0, 10)
      assert(at.watermark(109) == Watermark.Unknown)
      assert(at.watermark(110) == Watermark.Idle(None))
    }
  }

  test("expected splits hold until they are heard, or idle") {
    val at = At(rules.copy(expected = Seq("a", "b").map(name))).batch(0, 10, Seq("a" -> 500))
    assert(at.watermark(20) == Watermark.Unknown)
    assert(at.watermark(110) == Watermark.Idle(Some(490)))
    assert(at.batch(60, 60, Seq("a" -> 600)).watermark(110) == Plans.at(590))
    assert(at.batch(60, 60, Seq("b" -> 100)).watermark(61) == Plans.at(90))
  }

  test("splits that the source says are there hold before their first row") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500), known = Seq("a", "b"))
    assert(at.watermark(1) == Watermark.Unknown)
    assert(at.state.splits.size == 2)
  }

  test("an idle origin that advances follows the clock in steps of the idle time") {
    val at = At(rules.copy(whenIdle = WhenIdle.Advance)).batch(1000, 1000, Seq("a" -> 500))
    assert(at.watermark(1099) == Plans.at(490))
    assert(at.watermark(1100) == Watermark.Idle(Some(1090)))
    val advanced = at.batch(1100, 1100)
    assert(advanced.watermark(1150) == Watermark.Idle(Some(1090)))
    assert(advanced.watermark(1200) == Watermark.Idle(Some(1190)))
    assert(advanced.batch(1150, 1150, Seq("a" -> 600)).standing == Plans.at(1090))
  }

  test("a clock of the machine that goes back makes nobody idle, and nobody young again") {
    val at = At(rules).batch(1000, 1000, Seq("a" -> 500, "b" -> 200)).batch(400, 300, Seq("a" -> 600))
    assert(at.watermark(500) == Plans.at(190))
    assert(at.watermark(1099) == Plans.at(190))
    assert(at.watermark(1100) == Watermark.Idle(Some(590)))
  }

  test("a restarted query decides the same") {
    val at = At(rules.copy(onReturn = OnReturn.CatchUp))
      .batch(0, 0, Seq("a" -> 500, "b" -> 200, "c" -> 300)).batch(90, 90, Seq("a" -> 600)).batch(100, 100)
      .batch(110, 110, Seq("b" -> 300, "a" -> 700), waiting = true)
    for (now <- Seq(110L, 200L, 210L, 5000L);
      unread <- Seq(None, Some(Unread.Somewhere), Some(Unread.In(Seq(name("c"))))))
      assert(at.restarted.watermark(now, unread) == at.watermark(now, unread))
    assert(at.restarted.entry == at.entry)
  }

  test("an origin that is split otherwise from now on keeps what it had reached, and waits for no old split") {
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

  test("who is idle and may not fall silent any more is waited for from now on") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(100, 100, Seq("a" -> 600)).batch(150, 150, Seq())
    assert(at.standing == Plans.at(590))
    val waits = rules.copy(idleAfterMillis = None)
    val awake = At(waits, at.entry.fitting(Map(origin -> waits)))
    assert(awake.batch(151, 151, Seq("a" -> 900)).standing == Plans.at(590))
    assert(awake.batch(151, 151, Seq("a" -> 900, "b" -> 700)).standing == Plans.at(690))
  }

  test("without an idle time silence holds for ever") {
    val at = At(rules.copy(idleAfterMillis = None)).batch(0, 1, Seq("a" -> 500, "b" -> 200))
    assert(at.watermark(Long.MaxValue / 2) == Plans.at(190))
  }
}
