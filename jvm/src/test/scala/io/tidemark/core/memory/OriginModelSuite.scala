package io.tidemark.core.memory

import scala.collection.mutable
import scala.util.Random

import io.tidemark.core.Watermark
import io.tidemark.core.splits.{OnReturn, SplitNameTable}
import io.tidemark.core.support.{NaiveCoalescer, OneOrigin, Plans}

import Plans._
import org.scalatest.funsuite.AnyFunSuite

/** An origin's watermark beside a model that is plainly right, on long histories of rows, backlogs, silence and restarts,
  * for every setting.
  */
class OriginModelSuite extends AnyFunSuite {
  private val splits = Vector("a", "b", "c", "d", null)

  /** The rules of the design, batch by batch, with a plain coalescer. */
  private final class Model(rules: OriginRules) {
    private val clocks = new NaiveCoalescer(rules.onReturn)
    private val numbers = mutable.LinkedHashMap.empty[String, Int]
    private var lastStart, lastEnd = 0L
    private var first: Option[Long] = None
    private var heldBack, isSilent, isDecidedIdle, hasUnread = false
    private val holds = rules.whenIdle == WhenIdle.Hold
    // `found` is until when no split is known to have had rows, and `last` is when any split last had some.
    private var found: Option[Long] = None
    private var last: Option[Long] = None

    /** A trigger that finds nothing, and runs no batch. */
    def ask(now: Long): Unit = found = (found ++ Some(math.max(now, lastEnd))).maxOption

    /** All that a crash leaves of it is what the batches have brought. */
    def restart(): Unit = found = None

    /** A batch is decided; returns its watermark. */
    def begin(start: Long, unread: Option[Unread], named: Seq[String]): Watermark = {
      val now = math.max(start, lastEnd)
      val lastRows = clocks.lastRows
      val lastActive = lastRows.orElse(clocks.lastActive.maxOption)
      hasUnread = unread.exists { case Unread.In(some) => some.nonEmpty; case _ => false }
      val until = unread match {
        case Some(Unread.Somewhere) => Option.when(!heldBack)(math.min(lastStart, now))
        case _ => Some(now)
      }
      found = (found ++ (if (hasUnread) Some(math.min(lastStart, now)) else until)).maxOption
      last = lastActive
      val silent = for (after <- rules.idleAfterMillis; to <- until) yield {
        if (unread.exists(_.isInstanceOf[Unread.In])) clocks.wake(named.map(number(_, now)), now)
        if (!holds) clocks.idleSince(to - after)
        else lastRows.foreach(at => clocks.idleSince(math.min(at, to) - after))
        val isIdle =
          if (numbers.isEmpty) first.exists(_ <= to - after)
          else clocks.isIdle || holds && (isSilent && !hasUnread || clocks.lastActive.max <= to - after)
        if (isIdle && rules.whenIdle == WhenIdle.Advance) {
          val from = clocks.watermark.getOrElse(0L)
          val steps = Math.floorDiv(to - rules.delayMillis - from, after)
          if (steps > 0 || clocks.watermark.isEmpty) clocks.raise(from + steps * after)
        }
        isIdle
      }
      lastStart = start
      lastEnd = now
      isDecidedIdle = silent.getOrElse(clocks.isIdle || isSilent)
      if (isDecidedIdle) Watermark.Idle(clocks.watermark) else Watermark.of(clocks.watermark)
    }

    def end(at: Long, rows: Seq[(String, Long)], known: Seq[String], waiting: Boolean): Unit = {
      lastEnd = math.max(lastEnd, at)
      val isActive = rows.nonEmpty || hasUnread
      val before = numbers.size
      for (after <- rules.idleAfterMillis; to <- found; from <- last)
        if (holds && isActive && to - from >= after) clocks.activeLater(lastEnd - from, lastEnd)
      (rules.expected.map(SplitNameTable.decode(_).head.orNull) ++ known).foreach(number(_, lastEnd))
      val largest = rows.groupMapReduce(_._1)(_._2)(math.max)
      rows.foreach(row => number(row._1, lastEnd))
      clocks.observeAll(numbers.keys.toSeq.map(name => largest.get(name).map(_ - rules.delayMillis)), lastEnd)
      first = first.orElse(Some(lastEnd))
      isSilent = holds && isDecidedIdle && !isActive && numbers.size == before && before > 0 && !clocks.isIdle
      heldBack = waiting
    }

    def states: Map[String, (String, Option[Long])] =
      numbers.map { case (name, number) => name -> (clocks.state(number) -> clocks.clock(number)) }.toMap

    private def number(name: String, now: Long): Int =
      numbers.getOrElseUpdate(name, { clocks.add(now); clocks.size - 1 })
  }

  private def states(of: OriginState): Map[String, (String, Option[Long])] = {
    (0 until of.splits.size).map { split =>
      of.splits.name(split).head.orNull -> (NaiveCoalescer.names(of.splits.state(split)) -> of.splits.clock(split))
    }.toMap
  }

  for {
    onReturn <- Seq(OnReturn.Hold, OnReturn.CatchUp)
    whenIdle <- Seq(WhenIdle.Hold, WhenIdle.Rise, WhenIdle.Advance)
    idleAfter <- Seq(None, Some(100L))
    expected <- Seq(Nil, Seq("c", "e"))
  } test(
    s"the model agrees on $onReturn, $whenIdle, idle after $idleAfter, expected ${expected.mkString("[", " ", "]")}") {
    val rules = OriginRules(10L, Seq("s"), expected.map(OneOrigin.name), idleAfter, onReturn, whenIdle)
    var advanced, fellIdle = 0
    for (seed <- 1 to 50) {
      val random = new Random(seed)
      val model = new Model(rules)
      var engine = OneOrigin(named("o"), rules)
      var now = 1000L
      for (step <- 1 to 200) {
        // Batches are mostly near, sometimes far apart, and now and then the clock goes back.
        now +=
          (if (random.nextInt(12) == 0) -random.nextInt(50)
           else if (random.nextInt(6) == 0) 150 else random.nextInt(40))
        val reading = splits.filter(_ => random.nextInt(4) == 0)
        val unread = random.nextInt(3) match {
          case 0 => Some(Unread.In(reading.map(OneOrigin.name)))
          case 1 if reading.nonEmpty => Some(Unread.Somewhere)
          case _ => None
        }
        val rows = reading.filter(_ => random.nextInt(5) > 0).map(_ -> (now + random.nextInt(300) - 250))
        val known = if (random.nextInt(9) == 0) Seq(splits(random.nextInt(splits.size))) else Nil
        val (end, waiting) = (now + random.nextInt(60), random.nextInt(5) == 0)

        val before = engine.standing
        val decided = engine.watermark(now, unread)
        val expectedNow = model.begin(now, unread, reading)
        engine = engine.batch(now, end, rows, known, unread, waiting)
        model.end(end, rows, known, waiting)
        if (random.nextInt(20) == 0) {
          engine = engine.restarted
          model.restart()
        }
        if (random.nextInt(3) == 0) {
          val asked = end + random.nextInt(120)
          engine = engine.trigger(asked)
          model.ask(asked)
        }

        withClue(s"seed $seed, step $step: ") {
          assert(decided == expectedNow)
          assert(states(engine.state) == model.states)
        }
        if (decided.millis.exists(to => before.millis.forall(_ < to))) advanced += 1
        if (decided.isIdle) fellIdle += 1
      }
    }
    // Histories in which nothing advances or becomes idle would prove nothing.
    assert(idleAfter.isEmpty || (advanced > 50 && fellIdle > 50), s"$advanced, $fellIdle")
  }
}
