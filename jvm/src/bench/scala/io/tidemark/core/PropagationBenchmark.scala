package io.tidemark.core

import java.util.concurrent.TimeUnit

import io.tidemark.core.format.EntryCodec
import io.tidemark.core.memory.{BatchStart, Observation, WatermarkEntry}
import io.tidemark.core.plan.{Decision, OperatorWatermarks, PlanShape, Propagation}

import org.openjdk.jmh.annotations._

/** What the pure part of a batch costs the thread that plans it.
  *
  * Per batch it is `levels` (Spark asks for two batches' worth, and the first is remembered), `observe` and `encode`
  * once each; `batch` is the three together. A batch looks at its plan one time, so this is paid per batch and not per
  * row.
  */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
class PropagationBenchmark {

  @Param(Array("union-1", "union-2", "union-8", "union-32", "join-chain"))
  var plan: String = _

  private var shape: PlanShape = _
  private var entry: WatermarkEntry = _
  private var decision: Decision = _
  private var now: OperatorWatermarks = _
  private var seen: Observation = _

  @Setup
  def setUp(): Unit = {
    shape = plan match {
      case "join-chain" => BenchmarkPlans.joinChain
      case union => BenchmarkPlans.union(union.stripPrefix("union-").toInt)
    }
    // A query that has been running for a while: every origin with a clock, ledgers filled.
    entry = (0 until 20).foldLeft(WatermarkEntry.initial(Nil, -1, 0, 0)) { (before, batch) =>
      val seen = BenchmarkPlans.seen(shape, batch)
      after(before, batch.toLong, before.standing, seen)
    }
    decision = entry.standing
    now = Propagation.levels(shape, decision)
    seen = BenchmarkPlans.seen(shape, 20)
  }

  @Benchmark
  def levels(): OperatorWatermarks = Propagation.levels(shape, decision)

  @Benchmark
  def observe(): WatermarkEntry = Observation.observe(entry, ended(20), decision, now, seen, Map.empty)

  @Benchmark
  def encode(): Array[Byte] = EntryCodec.encode(entry, None).data

  @Benchmark
  def batch(): Array[Byte] = {
    EntryCodec.encode(after(entry, 20, entry.standing, seen), None).data
  }

  private def after(before: WatermarkEntry, batch: Long, decision: Decision, seen: Observation): WatermarkEntry =
    Observation.observe(before, ended(batch), decision, Propagation.levels(shape, decision), seen, Map.empty)

  private def ended(batch: Long) = Observation.BatchEnd(batch, BatchStart.at(batch), batch)
}
