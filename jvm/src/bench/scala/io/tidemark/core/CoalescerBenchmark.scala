package io.tidemark.core

import java.util.{Arrays, PriorityQueue, SplittableRandom, TreeMap => Sorted}
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

/** One update among many inputs: the coalescer, and the two ways that first come to mind, on the same updates.
  *
  * Inputs go on at a similar pace and in any order, as the splits of one stream do.
  */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class CoalescerUpdateBenchmark {
  import CoalescerBenchmarks._

  @Param(Array("10", "1000", "100000", "1000000"))
  var inputs: Int = _

  private var coalescer: Coalescer = _
  private var clocks: Array[Long] = _
  private var counts: Sorted[java.lang.Long, Integer] = _
  private var order: Array[Int] = _
  private var next = 0
  private var time = 0L

  @Setup
  def setUp(): Unit = {
    coalescer = filled(inputs)
    clocks = Array.tabulate(inputs)(coalescer.clock)
    counts = new Sorted
    clocks.foreach(clock => counts.merge(clock, 1, (a: Integer, b: Integer) => a + b))
    val random = new SplittableRandom(2)
    order = Array.fill(Order)(random.nextInt(inputs))
    time = Begin + 2 * Spread
  }

  /** The next input, and how far it has got. */
  private def advance(): Int = {
    next = (next + 1) & (Order - 1)
    time += 1
    order(next)
  }

  @Benchmark
  def tournament(): Long = {
    coalescer.hear(advance(), time, time)
    coalescer.watermark
  }

  @Benchmark
  def scan(): Long = {
    clocks(advance()) = time
    var least = Long.MaxValue
    var input = 0
    while (input < clocks.length) {
      least = math.min(least, clocks(input))
      input += 1
    }
    least
  }

  /** A sorted map of clocks does what a heap with removal does. */
  @Benchmark
  def sorted(): Long = {
    val input = advance()
    counts.computeIfPresent(clocks(input), (_: java.lang.Long, n: Integer) => if (n == 1) null else n - 1)
    clocks(input) = time
    counts.merge(time, 1, (a: Integer, b: Integer) => a + b)
    counts.firstKey
  }
}

/** All inputs at once, and the idle check: a batch's way. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class CoalescerBatchBenchmark {
  import CoalescerBenchmarks._

  @Param(Array("1000", "100000", "1000000"))
  var inputs: Int = _

  private var coalescer: Coalescer = _
  private var seen: Array[Long] = _
  private var heard: Array[Long] = _
  private var now = Begin

  @Setup
  def setUp(): Unit = {
    coalescer = filled(inputs)
    seen = Array.tabulate(inputs)(coalescer.clock)
    heard = new Array[Long](inputs)
  }

  private def advance(): Unit = {
    now += 1000
    var input = 0
    while (input < seen.length) {
      seen(input) += 1000
      input += 1
    }
  }

  @Benchmark
  def batch(): Long = {
    advance()
    coalescer.hearAll(seen, now)
    coalescer.idleSince(now - 60000)
    coalescer.watermark
  }

  /** The least of all, and when each was heard; nobody is left out, and nothing is there for a single update. */
  @Benchmark
  def scan(): Long = {
    advance()
    var least = Long.MaxValue
    var input = 0
    while (input < seen.length) {
      heard(input) = now
      least = math.min(least, seen(input))
      input += 1
    }
    least
  }

  /** A heap of all clocks, made anew. */
  @Benchmark
  def heap(): Long = {
    advance()
    val all = new PriorityQueue[java.lang.Long](seen.length)
    var input = 0
    while (input < seen.length) {
      all.add(seen(input))
      input += 1
    }
    all.peek
  }

  /** What of it is the harness: the array is filled anew, and nothing else. */
  @Benchmark
  def harness(): Long = {
    Arrays.setAll(seen, (input: Int) => seen(input) + 1000)
    seen(0)
  }
}

private[core] object CoalescerBenchmarks {
  val Begin = 1700000000000L
  val Spread = 100000L

  /** Updates are taken from a list of this many, so that they cost the same in all ways. */
  val Order: Int = 1 << 20

  def filled(inputs: Int): Coalescer = {
    val coalescer = new Coalescer(capacity = inputs)
    val random = new SplittableRandom(1)
    for (_ <- 0 until inputs) coalescer.add(Begin)
    for (input <- 0 until inputs) coalescer.hear(input, Begin + random.nextLong(Spread), Begin)
    coalescer
  }
}
