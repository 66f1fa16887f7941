package io.tidemark.core.memory

import scala.util.Random

import io.tidemark.core.Watermark
import io.tidemark.core.splits.{OnReturn, SplitState}
import io.tidemark.core.support.{OneOrigin, Plans}

import OneOrigin.name
import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** Silence of one split, and of all of them, with `when_all="hold"`; times in ms, the delay is 10. */
class PauseSuite extends AnyFunSuite {
  private val origin = named("o")
  private val rules = OriginRules(delayMillis = 10, splitBy = Seq("s"), idleAfterMillis = Some(100))
  private val reading = Some(Unread.Somewhere)

  private def At(rules: OriginRules) = OneOrigin(origin, rules)
  private def holding(millis: Long): Watermark = Watermark.Idle(Some(millis))

  test("a split becomes idle when other splits have rows that much later, and not by the clock alone") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(60, 60, Seq("a" -> 600))
    assert(at.watermark(159) == Plans.at(190))
    assert(at.batch(99, 99, Seq("a" -> 650)).watermark(150) == Plans.at(190))
    assert(at.batch(100, 100, Seq("a" -> 700)).watermark(101) == Plans.at(690))
  }

  test("an input without rows becomes idle as a whole, and its splits and its watermark do not change") {
    val at = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(60, 60, Seq("a" -> 600))
    assert(at.watermark(160) == holding(190))
    val silent = at.batch(160, 160)
    assert(silent.state.splits.idle == 0 && silent.standing == holding(190))
    assert(silent.watermark(100000) == holding(190))
  }

  test("the only split of an input becomes idle only together with the input") {
    for (rule <- Seq(rules, rules.copy(splitBy = Nil))) {
      val at = At(rule).batch(0, 0, Seq("a" -> 500))
      assert(at.watermark(99) == Plans.at(490) && at.watermark(100) == holding(490))
      assert(at.watermark(100, reading) == Plans.at(490))
    }
  }

  test("splits that become idle are left out one by one, and the last split with rows holds the watermark") {
    val at = At(rules).batch(0, 0, Seq("a" -> 200, "b" -> 300, "c" -> 500))
      .batch(50, 50, Seq("b" -> 400, "c" -> 600)).batch(100, 100, Seq("c" -> 700))
    assert(at.watermark(101) == Plans.at(390))
    val later = at.batch(150, 150, Seq("c" -> 800))
    assert(later.watermark(151) == Plans.at(790))
    assert(later.watermark(250) == holding(790))
  }

  private val lagging = At(rules).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(10, 10, Seq("a" -> 510))

  test("after a pause, each split has its remaining idle time, whichever split returns first") {
    for (returns <- Seq[OneOrigin => OneOrigin](
        _.trigger(200).batch(1000, 1001, Seq("a" -> 900), unread = reading),
        // A batch with another input's rows found the pause.
        _.batch(200, 200).batch(1000, 1001, Seq("a" -> 900), unread = reading),
        // The source names the splits with unread rows.
        _.trigger(200).batch(1000, 1001, Seq("a" -> 900), unread = Some(Unread.In(Seq(name("a"))))))) {
      val returned = returns(lagging)
      assert(returned.watermark(1002) == Plans.at(190))
      // Split "b" had been without rows for 10 ms when the pause began.
      assert(returned.batch(1090, 1090, Seq("a" -> 950), unread = reading).watermark(1091) == Plans.at(190))
      assert(returned.batch(1091, 1091, Seq("a" -> 950), unread = reading).watermark(1092) == Plans.at(940))
      assert(returned.batch(1090, 1090, Seq("b" -> 300), unread = reading).watermark(1091) == Plans.at(290))
    }
  }

  test("the split that is behind may return first after a pause") {
    val returned = lagging.trigger(200).batch(1000, 1001, Seq("b" -> 210), unread = reading)
    assert(returned.watermark(1002) == Plans.at(200))
    assert(returned.batch(1100, 1100, Seq("a" -> 600), unread = reading).watermark(1101) == Plans.at(200))
  }

  test("a pause of all splits that is shorter than the idle time counts for each split") {
    val returned = lagging.trigger(109).batch(109, 109, Seq("a" -> 900), unread = reading)
    assert(returned.watermark(110) == Plans.at(890))
  }

  test("triggers that are farther apart than the idle time are not a pause if each finds rows") {
    for (unread <- Seq(reading, Some(Unread.In(Seq(name("a")))))) {
      val apart = lagging.batch(1000, 1000, Seq("a" -> 600), unread = unread)
        .batch(2000, 2000, Seq("a" -> 700), unread = unread)
      assert(apart.watermark(3000, unread) == Plans.at(690))
    }
  }

  test("a slow batch makes no split idle, and the watermark waits for rows that arrive during the batch") {
    val slow = lagging.batch(20, 500, Seq("a" -> 900), unread = reading)
    assert(slow.watermark(500, reading) == Plans.at(190))
    assert(slow.batch(500, 510, Seq("a" -> 950), unread = reading).watermark(510, reading) == Plans.at(940))
    assert(slow.batch(500, 510, Seq("b" -> 300), unread = reading).watermark(510, reading) == Plans.at(290))
  }

  test(
    "no split becomes idle while an admission limit holds rows back, and afterwards a split without rows does") {
    val held = lagging.batch(1000, 1000, Seq("a" -> 600), unread = reading, waiting = true)
    assert(held.watermark(1001, reading) == Plans.at(190))
    assert(held.watermark(1001) == Plans.at(590))
  }

  test("an expected split becomes idle while other splits have rows, and holds the watermark after a pause") {
    val expecting = At(rules.copy(expected = Seq("a", "b").map(name))).batch(0, 0, Seq("a" -> 500))
    assert(expecting.watermark(5000) == Watermark.Idle(None))
    val returned = expecting.trigger(5000).batch(5000, 5000, Seq("a" -> 600), unread = reading)
    assert(returned.watermark(5001) == Watermark.Unknown)
    assert(returned.batch(5100, 5100, Seq("a" -> 700), unread = reading).watermark(5101) == Plans.at(690))
  }

  test("a split that is discovered during a pause holds the watermark and does not end the pause") {
    val known = lagging.trigger(150).batch(200, 200, known = Seq("c"))
    assert(known.watermark(201) == Plans.at(190))
    assert(known.watermark(300) == holding(190))
    val returned = known.trigger(300).batch(1000, 1000, Seq("a" -> 900), unread = reading)
    assert(returned.watermark(1001) == Plans.at(190))
    assert(returned.state.splits.idle == 0)
  }

  test("an input that never had a row is idle as a whole, and its expected splits hold after its first row") {
    val at = At(rules.copy(expected = Seq("a", "b").map(name))).batch(0, 10)
    assert(at.watermark(110) == Watermark.Idle(None))
    val active = at.trigger(110).batch(500, 500, Seq("a" -> 500), unread = reading)
    assert(active.watermark(501) == Watermark.Unknown)
    assert(active.batch(510, 510, Seq("b" -> 200), unread = reading).watermark(511) == Plans.at(190))
  }

  test("a split that was idle before a pause stays idle after the pause until that split returns") {
    val at = lagging.batch(100, 100, Seq("a" -> 600)).batch(110, 110)
    assert(at.standing == Plans.at(590))
    val returned = at.trigger(300).batch(1000, 1000, Seq("b" -> 300), unread = reading)
    assert(returned.standing == Plans.at(590))
    assert(returned.batch(1010, 1010, Seq("a" -> 900)).standing == Plans.at(590))
    assert(returned.batch(1010, 1010, Seq("a" -> 900, "b" -> 800)).standing == Plans.at(790))
  }

  test("the first batch of a run that starts during a pause counts the pause from the last rows of the input") {
    def started(listening: Long) = lagging.copy(entry = lagging.entry.listeningFrom(listening)).restarted
    // Spark asks nothing before the first batch of a run; rows that had arrived would have caused one.
    val returned = started(5000).trigger(5200).batch(5200, 5200, Seq("a" -> 900), unread = reading)
    assert(returned.watermark(5201) == Plans.at(190))
    val soon = started(5000).trigger(5050).batch(5050, 5050, Seq("a" -> 900), unread = reading)
    assert(soon.watermark(5051) == Plans.at(190))
  }

  test("an idle input stays idle after a restart until it has rows, unless idle_after is removed") {
    val silent = lagging.batch(200, 200).restarted
    assert(silent.standing == holding(190))
    val longer = silent.copy(rules = rules.copy(idleAfterMillis = Some(10000)))
    assert(longer.watermark(201) == holding(190))
    assert(longer.batch(300, 300, Seq("a" -> 900), unread = reading).standing == Plans.at(190))
    val never = silent.rules.copy(idleAfterMillis = None)
    assert(silent.entry.fitting(Map(origin -> never)).standing.origin(origin) == Plans.at(190))
  }

  test("an entry that was written with when_all=rise keeps its idle splits and its watermark with when_all=hold") {
    val risen = At(rules.copy(whenIdle = WhenIdle.Rise)).batch(0, 0, Seq("a" -> 500, "b" -> 200)).batch(100, 100)
    val held = risen.copy(rules = rules).restarted
    assert(held.standing == holding(490) && held.state.splits.idle == 2)
    assert(held.batch(200, 200, Seq("b" -> 300), unread = reading).standing == Plans.at(490))
  }

  test("a row that was on time before a pause is on time after it, whichever split returns first") {
    for (seed <- 1 to 500) withClue(s"seed $seed: ") {
      val random = new Random(seed)
      val onReturn = if (random.nextBoolean()) OnReturn.Hold else OnReturn.CatchUp
      val all = (0 to 1 + random.nextInt(5)).map(_.toString)
      val lag = all.map(_ -> random.nextInt(1000)).toMap
      def rows(splits: Iterable[String], now: Long) = splits.toSeq.map(s => s -> (now + 5000 - lag(s)))

      var at = At(rules.copy(onReturn = onReturn)).batch(0, 0, rows(all, 0))
      var now = 0L
      for (_ <- 1 to 10) {
        now += random.nextInt(60)
        at = at.batch(now, now, rows(all.filter(_ => random.nextInt(3) > 0), now), unread = reading)
      }
      at = at.batch(now + 1, now + 1)
      val last = at.state.splits.lastRows.get
      // Rows that were late before the pause are late now.
      val before = at.standing.millis.get
      val clocks = (0 until at.state.splits.size).filter(at.state.splits.state(_) == SplitState.Active).map { split =>
        at.state.splits.name(split).head.get ->
          (math.max(before, at.state.splits.clock(split).get), 100 - (last - at.state.splits.lastActive(split)))
      }.toMap

      // The pause is found by a trigger, by a batch of another input, or by a run that began in it.
      val pause = 100 + random.nextInt(1000)
      now = last + pause
      at = random.nextInt(3) match {
        case 0 => at.trigger(now)
        case 1 => at.batch(now, now)
        case _ =>
          now += 10000
          at.copy(entry = at.entry.listeningFrom(now)).restarted.trigger(now + pause)
      }
      now += pause

      // Splits return in any order, each within its remaining idle time.
      val first = now
      var waited = clocks.keySet
      var reached = at.standing.millis.get
      for (split <- random.shuffle(clocks.keys.toSeq); if now - first < clocks(split)._2) {
        assert(waited.forall(other => now - first >= clocks(other)._2 || reached <= clocks(other)._1), split)
        at = at.batch(now, now, rows(Seq(split), now), unread = reading)
        waited -= split
        assert(at.standing.millis.get >= reached)
        reached = at.standing.millis.get
        now += random.nextInt(30)
      }
    }
  }
}
