package io.tidemark.core.splits

import java.lang.management.ManagementFactory

import scala.reflect.ClassTag
import scala.util.Random

import io.tidemark.core.support.{MessageCoalescer, NaiveCoalescer}

import com.sun.management.ThreadMXBean
import org.scalatest.funsuite.AnyFunSuite

class CoalescerSuite extends AnyFunSuite {
  private val policies = Seq(OnReturn.Hold, OnReturn.CatchUp)
  private val Steps = 10000

  private def known(clock: Long): Option[Long] = Option.when(clock != Coalescer.NoClock)(clock)

  private def state(of: MessageCoalescer, input: Int): String = of.state(input) match {
    case Coalescer.Idle if of.hasEnded(input) => "ended"
    case Coalescer.Active => "active"
    case Coalescer.Idle => "idle"
    case Coalescer.CatchingUp => "catching up"
    case other => fail(s"there is no state $other")
  }

  /** Two coalescers through the same history, and what has to be equal after each step. */
  private final class Pair(onReturn: OnReturn, seed: Int, most: Int) {
    private val random = new Random(seed)
    private val fast = new MessageCoalescer(onReturn)
    private val plain = new NaiveCoalescer(onReturn)
    private var now = 0L
    private var watermark = Coalescer.NoClock

    private def alive: Seq[Int] = (0 until plain.size).filter(plain.state(_) != "ended")
    private def anyInput: Option[Int] = alive.lift(random.nextInt(math.max(alive.size, 1)))
    // Inputs are far apart, and now and then one jumps ahead.
    private def time(input: Int): Long = now + input * 7L - random.nextInt(200) +
      (if (random.nextInt(50) == 0) 5000 else 0)

    def step(): Unit = {
      now += random.nextInt(3)
      random.nextInt(20) match {
        case 0 => if (plain.size < most) { fast.add(now); plain.add(now) }
        case 1 => anyInput.foreach { i => fast.idle(i); plain.idle(i) }
        case 2 if random.nextInt(10) == 0 => anyInput.foreach { i => fast.end(i); plain.end(i) }
        case 3 =>
          val limit = now - random.nextInt(60)
          val expected = fast.ifIdleSince(limit)
          fast.idleSince(limit)
          plain.idleSince(limit)
          assert((expected.watermark, expected.idle) === ((fast.watermark, fast.isIdle)))
        case 4 =>
          val clocks = Seq.tabulate(plain.size) { i =>
            if (plain.state(i) == "ended" || random.nextBoolean()) Coalescer.NoClock else time(i)
          }
          fast.observeAll(clocks, now)
          plain.observeAll(clocks.map(known), now)
        case 5 => anyInput.foreach { i => fast.observe(i, now); plain.observe(i, None, now) }
        case _ => anyInput.foreach { i =>
            val t = time(i); fast.observe(i, t, now); plain.observe(i, Some(t), now)
          }
      }
      check()
    }

    private def check(): Unit = {
      assert(known(fast.watermark) === plain.watermark)
      assert(fast.isIdle === plain.isIdle)
      assert(fast.watermark >= watermark, "the watermark went back")
      watermark = fast.watermark
      for (i <- 0 until plain.size) {
        assert(state(fast, i) === plain.state(i))
        assert(known(fast.clock(i)) === plain.clock(i))
      }
      assert(fast.active === (0 until plain.size).count(i => Set("active", "catching up")(plain.state(i))))
    }
  }

  for (onReturn <- policies; (most, seeds) <- Seq(3 -> 4, 40 -> 1))
    test(s"the coalescer agrees with a simple model in $Steps steps, with onReturn=$onReturn and up to $most inputs") {
      for (seed <- 1 to seeds) {
        val pair = new Pair(onReturn, seed, most)
        for (_ <- 1 to Steps) pair.step()
      }
    }

  for (onReturn <- policies)
    test(s"the watermark of inputs that are all idle does not depend on their order, with onReturn=$onReturn") {
      val clocks = Seq(30L, 10L, 50L, 20L)
      val values = clocks.indices.permutations.map { order =>
        val c = new MessageCoalescer(onReturn)
        clocks.zipWithIndex.foreach { case (clock, i) => c.add(0L); c.observe(i, clock, 0L) }
        order.foreach(c.idle(_))
        assert(c.isIdle)
        c.watermark
      }
      assert(values.toSet === Set(50L))
    }

  test("renumbering the inputs does not change the watermark") {
    val random = new Random(3)
    val history = Seq.fill(Steps)((random.nextInt(20), random.nextInt(10), random.nextInt(100000).toLong))
    def watermarks(number: Int => Int): Seq[Long] = {
      val c = new MessageCoalescer
      for (_ <- 0 until 20) c.add(0L)
      history.map { case (input, what, time) =>
        if (what == 0) c.idle(number(input)) else c.observe(number(input), time, 0L)
        c.watermark
      }
    }
    val renumbered = random.shuffle((0 until 20).toVector)
    assert(watermarks(renumbered) === watermarks(identity))
  }

  test("coalescing in two levels gives the same watermark as in one level") {
    val random = new Random(4)
    val flat = new MessageCoalescer
    val parts = Seq.fill(4)(new MessageCoalescer)
    val top = new MessageCoalescer
    for (p <- parts) { top.add(0L); for (_ <- 0 until 5) { p.add(0L); flat.add(0L) } }
    for (_ <- 1 to Steps) {
      val (part, input, time) = (random.nextInt(4), random.nextInt(5), random.nextInt(1000000).toLong)
      flat.observe(part * 5 + input, time, 0L)
      parts(part).observe(input, time, 0L)
      if (parts(part).watermark != Coalescer.NoClock) top.observe(part, parts(part).watermark, 0L)
      assert(top.watermark === flat.watermark)
    }
  }

  test("an input that never had an event holds the watermark back until it is idle") {
    val c = new MessageCoalescer
    c.add(0L)
    c.add(100L)
    c.observe(0, 7L, 200L)
    assert(c.watermark === Coalescer.NoClock)
    c.idleSince(99L)
    assert(c.watermark === Coalescer.NoClock)
    c.idleSince(100L)
    assert(c.watermark === 7L)
    assert(!c.isIdle)
  }

  test("an ended input cannot have events, become idle or end again") {
    val c = new MessageCoalescer
    c.add(0L)
    c.end(0)
    assertThrows[IllegalStateException](c.observe(0, 1L, 0L))
    assertThrows[IllegalStateException](c.idle(0))
    assertThrows[IllegalStateException](c.end(0))
  }

  for (onReturn <- policies)
    test(s"a restored coalescer continues as the original does, with onReturn=$onReturn") {
      val random = new Random(9)
      val inputs = 12
      val c = new MessageCoalescer(onReturn)
      for (_ <- 0 until inputs) c.add(0L)
      for (round <- 1 to 20) {
        def each[A: ClassTag](of: Int => A) = Array.tabulate(inputs)(of)
        val restored = Coalescer.restored(inputs, each(c.clock), each(c.lastActive), each(c.state))
        restored.begin(restored.totals, onReturn, journal = null)
        val copy = new MessageCoalescer(restored)
        copy.raise(c.watermark)
        for (step <- 1 to 500) {
          val (input, now, time) = (random.nextInt(inputs), round * 1000L + step, round * 1000L + random.nextInt(2000))
          val silent = random.nextInt(4) == 0
          val limit = now - random.nextInt(100)
          Seq(c, copy).foreach { on =>
            if (silent) on.idle(input) else on.observe(input, time, now)
            on.idleSince(limit)
          }
          assert((copy.watermark, copy.isIdle) === ((c.watermark, c.isIdle)))
        }
      }
    }

  test("an update allocates no memory") {
    val threads = ManagementFactory.getThreadMXBean.asInstanceOf[ThreadMXBean]
    val coalescer = new Coalescer()
    for (_ <- 0 until 1000) coalescer.add(0L)
    var time = 0L
    def updates(): Unit = {
      var left = 100000
      while (left > 0) {
        time += 1
        coalescer.observe((time * 7919 % 1000).toInt, time, time)
        coalescer.settle()
        left -= 1
      }
    }
    updates()
    val before = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
    updates()
    // Asking allocates a little; one word for each update would be a million bytes.
    assert(threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before < 50000)
  }
}
