package io.tidemark.core.memory

import scala.util.Random

import io.tidemark.core.format.{EntryAssembler, EntryCodec}
import io.tidemark.core.format.EntryCodec.Written
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, Splits}
import io.tidemark.core.support.{ManySplits, OneOrigin, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** Splits that were silent for long leave the memory, and the watermark is as if they had not. */
class ForgettingSuite extends AnyFunSuite {
  private val IdleAfter = 100L
  private val ForgetAfter = 1000L

  private def rules(
      onReturn: OnReturn,
      whenIdle: WhenIdle,
      forgets: Boolean,
      expected: Seq[String] = Nil) = OriginRules(
    10L,
    Seq("s"),
    expected.map(OneOrigin.name),
    Some(IdleAfter),
    onReturn,
    whenIdle,
    forgetAfterMillis = Option.when(forgets)(ForgetAfter))

  private def names(of: OneOrigin): Seq[String] = {
    val splits = of.state.splits
    (0 until splits.size).map(splits.name(_).head.get)
  }

  /** Devices that come and go. A device without rows for some time never has rows again. */
  private final class Devices(random: Random) {
    private var lastRows = Map.empty[String, Long]
    private var count = 0

    def rows(now: Long): Seq[(String, Long)] = {
      lastRows = lastRows.filter { case (_, last) => now - last < ForgetAfter / 2 && random.nextInt(40) > 0 }
      if (random.nextInt(4) == 0) {
        count += 1
        lastRows += s"device-$count" -> now
      }
      val reading = lastRows.keys.toSeq.sorted.filter(_ => random.nextInt(3) == 0)
      lastRows ++= reading.map(_ -> now)
      reading.map(_ -> (now + random.nextInt(300) - 250))
    }
  }

  for (onReturn <- Seq(OnReturn.Hold, OnReturn.CatchUp);
    whenIdle <- Seq(WhenIdle.Hold, WhenIdle.Rise, WhenIdle.Advance))
    test(s"the watermark is the same with forgotten splits and without, on $onReturn, $whenIdle") {
      var forgotten, advanced = 0
      for (seed <- 1 to 40) {
        val random = new Random(seed)
        val devices = new Devices(random)
        var (kept, forgets) =
          (
            OneOrigin(named("o"), rules(onReturn, whenIdle, false)),
            OneOrigin(named("o"), rules(onReturn, whenIdle, true)))
        var now = 1000L
        for (step <- 1 to 300) {
          now += (if (random.nextInt(30) == 0) 400 else random.nextInt(60))
          val rows = if (random.nextInt(6) == 0) Nil else devices.rows(now)
          val (end, waiting) = (now + random.nextInt(30), random.nextInt(10) == 0)
          val before = kept.standing
          withClue(s"seed $seed, step $step: ") {
            assert(forgets.watermark(now) === kept.watermark(now))
            kept = kept.batch(now, end, rows, waiting = waiting)
            forgets = forgets.batch(now, end, rows, waiting = waiting)
            if (random.nextInt(20) == 0) {
              kept = kept.restarted
              forgets = forgets.restarted
            }
            if (random.nextInt(3) == 0) {
              val asked = end + random.nextInt(120)
              kept = kept.trigger(asked)
              forgets = forgets.trigger(asked)
            }
            assert(forgets.standing === kept.standing)
            assert(forgets.state.splits.lastRows === kept.state.splits.lastRows)
          }
          if (kept.standing.millis.exists(to => before.millis.forall(_ < to))) advanced += 1
        }
        forgotten += kept.state.splits.size - forgets.state.splits.size
      }
      // Histories in which nothing is forgotten would prove nothing.
      assert(forgotten > 400 && advanced > 400, s"$forgotten, $advanced")
    }

  /** Batches of "a" every 50 ms, so that nothing is a pause of all. */
  private def onlyA(from: OneOrigin, begin: Long, until: Long, known: Seq[String] = Nil): OneOrigin =
    (begin to until by 50L).foldLeft(from)((query, now) => query.batch(now, now, Seq("a" -> now), known))

  private val holding = OneOrigin(named("o"), rules(OnReturn.Hold, WhenIdle.Hold, true))

  test("a split is forgotten when others were active that much later, and is new when it returns") {
    val begun = holding.batch(0, 0, Seq("a" -> 0L, "b" -> 0L))
    assert(names(onlyA(begun, 50, 950)) === Seq("a", "b"))
    val without = onlyA(begun, 50, 1000)
    assert(names(without) === Seq("a"))
    assert(without.standing === at(990))
    val returned = without.batch(1050, 1050, Seq("b" -> 600L))
    assert(names(returned) === Seq("a", "b"))
    // The watermark does not go back.
    assert(returned.standing === at(990))
  }

  test("a pause of the whole input and a split that is alone forget nothing") {
    val begun = onlyA(holding.batch(0, 0, Seq("a" -> 0L, "b" -> 0L)), 50, 200)
    assert(names(onlyA(begun.trigger(9000), 9050, 9100)) === Seq("a", "b"))
    val rising = OneOrigin(named("o"), rules(OnReturn.Hold, WhenIdle.Rise, true)).batch(0, 0, Seq("a" -> 500L))
    assert(names(rising.batch(5000, 5000)) === Seq("a"))
    assert(rising.batch(5000, 5000).standing.isIdle)
  }

  test("a split that is ahead of the watermark is forgotten when the watermark has passed it") {
    val ahead = onlyA(holding.batch(0, 0, Seq("a" -> 0L, "b" -> 1100L)), 50, 1050)
    assert(names(ahead) === Seq("a", "b"))
    assert(names(onlyA(ahead, 1100, 1150)) === Seq("a"))
  }

  test("expected splits, and those that the source reports, are never forgotten") {
    val begun = OneOrigin(named("o"), rules(OnReturn.Hold, WhenIdle.Hold, true, expected = Seq("e")))
      .batch(0, 0, Seq("a", "b", "e", "k").map(_ -> 0L), known = Seq("k"))
    assert(names(onlyA(begun, 50, 3000, known = Seq("k"))).toSet === Set("a", "e", "k"))
  }

  private val Many = EntryCodec.MostWhole + 1000

  /** So many splits, of which the first ones are idle for long. */
  private def idle(first: Int): Splits = {
    def times(splits: Range) = {
      val all = new MaxEventTimes
      splits.foreach(split => all.observe(ManySplits.nameOf(split), 100L))
      all
    }
    Splits.none
      .observe(times(0 until Many), 0L, 0L, OnReturn.Hold)
      .observe(times(first until Many), 0L, 2000L, OnReturn.Hold)
      .idleSince(1000L, OnReturn.Hold)
  }

  private def forgetting(splits: Splits): Splits = splits.forgettable(1000L, Nil).fold(splits) { isGone =>
    splits.keeping((0 until splits.size).filterNot(isGone).toArray)
  }

  test("of many splits, some are forgotten once an eighth can be, because all are written again then") {
    assert(forgetting(idle(Many / 8 - 1)).size === Many)
    val left = forgetting(idle(Many / 8))
    assert(left.size === Many - Many / 8)
    assert(left.name(0) === Seq(Some(s"device-${Many / 8}")))
    assert(left.watermark === at(100))
  }

  test("an entry after splits were forgotten is whole, and later ones continue from it") {
    def entry(batch: Long, splits: Splits) = WatermarkEntry(
      batch,
      batch,
      batch,
      Decision.none,
      Map(named("o") -> OriginState(splits, splitBy = Seq("s"))),
      Floors.none,
      Map.empty)
    val before = idle(Many / 4)
    val forgotten = forgetting(before)
    val times = new MaxEventTimes
    Seq(0, Many - 1, Many).foreach(split => times.observe(ManySplits.nameOf(split), 500L))
    val next = forgotten.observe(times, 0L, 3000L, OnReturn.Hold)
    val first = EntryCodec.encode(entry(0, before), None)
    val second = EntryCodec.encode(entry(1, forgotten), Some(Written(entry(0, before), first.checksum)))
    val third = EntryCodec.encode(entry(2, next), Some(Written(entry(1, forgotten), second.checksum)))
    assert(second.isWhole && !third.isWhole)
    val read = new EntryAssembler
    Seq(first, second).foreach(entry => read.next(entry.data))
    assert(read.entry === entry(1, forgotten))
    read.next(third.data)
    assert(read.entry === entry(2, next))
    assert(next.size === Many - Many / 4 + 2)
  }
}
