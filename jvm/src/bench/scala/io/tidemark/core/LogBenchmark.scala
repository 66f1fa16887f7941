package io.tidemark.core

import java.util.concurrent.TimeUnit

import scala.util.Random

import io.tidemark.core.format.{EntryAssembler, EntryCodec, SplitsSnapshot}
import io.tidemark.core.format.EntryCodec.Written
import io.tidemark.core.memory.{OriginState, WatermarkEntry}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}

import org.openjdk.jmh.annotations._

/** What the log of a query with many splits costs, of which one in a hundred has rows in a batch.
  *
  * `heard` and `changes` are on the way of each batch, beside the file itself; `snapshot` and `names` are written on
  * another thread, `restart` reads them back with the changes of one batch and looks up a split.
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
  private var before: WatermarkEntry = _
  private var after: WatermarkEntry = _
  private var spoken: MaxEventTimes = _
  private var snapshotFile: Array[Byte] = _
  private var namesFile: Array[Byte] = _
  private var changesFile: Array[Byte] = _

  @Setup
  def setUp(): Unit = {
    // Each was heard in one of the last batches.
    val heard = (0 until 20).foldLeft(Splits.none) { (all, batch) =>
      all.heard(times((batch until splits by 20)), 0L, Begin + batch * 5000L, OnReturn.Hold)
    }
    before = entry(19, heard)
    spoken = times(Seq.fill(splits / 100)(random.nextInt(splits)))
    after = entry(20, this.heard())
    namesFile = SplitsSnapshot.encodeNames(before)
    snapshotFile = snapshot()
    changesFile = changes()
    println(s"\n$splits splits: ${changesFile.length} bytes of changes, ${snapshotFile.length} of a snapshot, " +
      s"${namesFile.length} of names")
  }

  private def times(speak: Seq[Int]): MaxEventTimes = {
    val times = new MaxEventTimes
    speak.foreach(split =>
      times.note(SplitNameTable.encode(Seq(Some(s"device-$split"))), Begin - random.nextInt(3600000)))
    times
  }

  private def entry(batch: Long, splits: Splits) = WatermarkEntry(
    batch,
    Begin + batch * 5000,
    Begin + batch * 5000,
    Decision.none,
    Map(name -> OriginState(splits)),
    Floors.none,
    Map.empty)

  @Benchmark
  def heard(): Splits = before.origins(name).splits.heard(spoken, 0L, Begin + 100000L, OnReturn.Hold)

  @Benchmark
  def changes(): Array[Byte] = EntryCodec.encode(after, Some(Written(before, 0))).data

  @Benchmark
  def snapshot(): Array[Byte] =
    SplitsSnapshot.encode(Written(before, 0), before.batch -> SplitsSnapshot.checksumOf(namesFile))

  @Benchmark
  def names(): Array[Byte] = SplitsSnapshot.encodeNames(before)

  @Benchmark
  def restart(): Splits = {
    val read = new EntryAssembler
    read.names(namesFile, SplitsSnapshot.header(snapshotFile))
    read.states(snapshotFile)
    read.next(changesFile)
    read.entry.origins(name).splits.heard(MaxEventTimes.whole(Begin), 0L, Begin, OnReturn.Hold)
  }
}
