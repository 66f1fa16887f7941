package io.tidemark.core

import java.util.concurrent.TimeUnit

import scala.util.Random

import io.tidemark.core.format.{EntryAssembler, EntryCodec, SplitsSnapshot}
import io.tidemark.core.format.EntryCodec.Written
import io.tidemark.core.memory.{BatchStart, Observation, OriginRules, WatermarkEntry}
import io.tidemark.core.plan.{PlanShape, Propagation}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}

import org.openjdk.jmh.annotations._

/** What a query with many splits costs on the driver, batch after batch: each call runs the next batch.
  *
  * In `batch` one split in a hundred has rows; in `allActive` each has, and two tasks bring them. Both decide the batch,
  * observe it and encode its entry, as the engine does; the file itself is not written. `snapshot` and `names` are encoded
  * on another thread. `restart` reads them back with the changes of one batch and looks up a split.
  */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgsAppend = Array("-Xmx2g"))
class LogBenchmark {

  @Param(Array("10000", "1000000"))
  var splits: Int = _

  private val random = new Random(1)
  private val Begin = 1700000000000L
  private val name = OriginName("readings", 0)
  private val shape = PlanShape.Origin("withWatermark", name, ColumnId(0), PlanShape.Source("files"))
  private val rules = Map(name -> OriginRules(0L, splitBy = Seq("device"), idleAfterMillis = Some(600000L)))
  // A split has rows in every hundredth batch.
  private var parts: Array[MaxEventTimes] = _
  // What two tasks bring if every split has rows.
  private var halves: Seq[MaxEventTimes] = _
  private var last: Written = _
  private var snapshotFile: Array[Byte] = _
  private var namesFile: Array[Byte] = _
  private var changesFile: Array[Byte] = _

  @Setup
  def setUp(): Unit = {
    parts = random.shuffle((0 until splits).toVector).grouped(splits / 100).map(times).toArray
    halves = Seq(times(0 until splits / 2), times(splits / 2 until splits))
    last = Written(WatermarkEntry.initial(Seq(name), -1L, 0L, 0L), 0)
    run(together(halves))
    (1 to 100).foreach(_ => batch())
    val before = last
    namesFile = SplitsSnapshot.encodeNames(before.entry)
    snapshotFile = encoded(before)
    changesFile = batch()
    println(s"\n$splits splits: ${changesFile.length} bytes of changes, ${snapshotFile.length} of a snapshot, " +
      s"${namesFile.length} of names")
  }

  private def times(active: Iterable[Int]): MaxEventTimes = {
    val times = new MaxEventTimes
    active.foreach(split =>
      times.observe(SplitNameTable.encode(Seq(Some(s"device-$split"))), Begin - random.nextInt(3600000)))
    times
  }

  /** As the driver merges what tasks bring. */
  private def together(tasks: Seq[MaxEventTimes]): MaxEventTimes = {
    val all = tasks.head.copy()
    tasks.tail.foreach(all.merge(_, splits))
    all
  }

  private def run(seen: MaxEventTimes): Array[Byte] = {
    val entry = last.entry
    val number = entry.batch + 1
    val start = BatchStart.at(Begin + number * 5000L)
    val decision = entry.decide(start, rules)
    val levels = Propagation.levels(shape, decision)
    // The event times are the same again, so the delay makes them later from batch to batch.
    val seenOfOne = Observation.OriginObservation(seen, delayMillis = -number * 5000L)
    val end = Observation.BatchEnd(number, start, start.millis + 1000L)
    val after = Observation.observe(entry, end, decision, levels, Observation(Map(name -> seenOfOne), Map.empty), rules)
    val bytes = EntryCodec.encode(after, Some(last))
    last = Written(after, bytes.checksum)
    bytes.data
  }

  private def encoded(of: Written): Array[Byte] =
    SplitsSnapshot.encode(of, of.entry.batch -> SplitsSnapshot.checksumOf(namesFile))

  @Benchmark
  def batch(): Array[Byte] = run(parts(((last.entry.batch + 1) % parts.length).toInt))

  @Benchmark
  def allActive(): Array[Byte] = run(together(halves))

  @Benchmark
  def snapshot(): Array[Byte] = encoded(last)

  @Benchmark
  def names(): Array[Byte] = SplitsSnapshot.encodeNames(last.entry)

  @Benchmark
  def restart(): Splits = {
    val read = new EntryAssembler
    read.names(namesFile, SplitsSnapshot.header(snapshotFile))
    read.states(snapshotFile)
    read.next(changesFile)
    read.entry.origins(name).splits.observe(MaxEventTimes.whole(Begin), 0L, Begin, OnReturn.Hold)
  }
}
