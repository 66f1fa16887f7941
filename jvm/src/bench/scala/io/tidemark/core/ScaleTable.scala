package io.tidemark.core

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.lang.management.ManagementFactory

import io.tidemark.core.format.EntryCodec
import io.tidemark.core.memory.{BatchStart, Observation, OriginRules, WatermarkEntry}
import io.tidemark.core.plan.{PlanShape, Propagation}
import io.tidemark.core.splits.{MaxEventTimes, SplitNameTable}

/** Prints what the driver pays for tasks, operators and batches, in ms of CPU time: the tables of `docs/scale.md`.
  *
  * It measures CPU time and not time, so that other work on the machine decides less. Spark itself is not in it.
  */
object ScaleTable {
  private val Begin = 1700000000000L
  private val threads = ManagementFactory.getThreadMXBean

  def main(arguments: Array[String]): Unit = {
    println("tasks, splits in all: ms for what all tasks of a batch have seen, kB that a task sends")
    for ((tasks, splits) <- Seq(10 -> 10, 100 -> 100, 1000 -> 1000, 1000 -> 100000, 1000 -> 1000000)) {
      val reports = (0 until tasks).map(report(_, tasks, splits))
      val took = millis(if (splits > 100000) 10 else 40)(merged(reports))
      println(f"$tasks%,d tasks, $splits%,d splits: $took%.2f ms, ${reports.head.length / 1e3}%.1f kB")
    }
    println("inputs, each with an aggregation: ms a batch, kB of its entry")
    for (inputs <- Seq(1, 10, 100, 1000)) {
      val shape = BenchmarkPlans.union(inputs)
      val seen = BenchmarkPlans.seen(shape, 1)
      val start = after(shape, WatermarkEntry.initial(Nil, -1, 0, 0), seen)
      val took = millis(if (inputs > 100) 40 else 400)(encoded(after(shape, start, seen)))
      println(f"$inputs%,d inputs: $took%.3f ms, ${encoded(start).length / 1e3}%.1f kB")
    }
    println("a query of 32 inputs: ms a batch, kB of its entry, in the first and in the last of so many batches")
    val shape = BenchmarkPlans.union(32)
    val tenth = 2000
    // The code is compiled before the first batch counts.
    run(shape, WatermarkEntry.initial(Nil, -1, 0, 0), tenth)
    val (first, young) = run(shape, WatermarkEntry.initial(Nil, -1, 0, 0), tenth)
    val (_, old) = run(shape, young, 8 * tenth)
    val (last, oldest) = run(shape, old, tenth)
    println(f"batches 1 to $tenth%,d: $first%.3f ms, ${encoded(young).length / 1e3}%.1f kB")
    println(f"batches ${9 * tenth + 1}%,d to ${10 * tenth}%,d: $last%.3f ms, ${encoded(oldest).length / 1e3}%.1f kB")
    println("a year in which a million devices come, each for 30 days: splits, MB on the driver, ms of the longest batch, MB of its entry")
    for (forgetAfter <- Seq(None, Some(30))) {
      val (splits, memory, longest, entry) = yearOfChurn(forgetAfter)
      val rule = forgetAfter.fold("no forget_after")(days => s"forget_after $days days")
      println(f"$rule: $splits%,d splits, $memory%.1f MB, $longest%.0f ms, $entry%.1f MB")
    }
  }

  /** A batch each day, in which the devices of that day have rows. */
  private def yearOfChurn(forgetAfterDays: Option[Int]): (Int, Double, Double, Double) = {
    val day = 24 * 3600 * 1000L
    val name = OriginName("readings", 0)
    val rules = Map(name -> OriginRules(
      0L,
      Seq("device"),
      idleAfterMillis = Some(2 * day),
      forgetAfterMillis =
        forgetAfterDays.map(_ * day)))
    val shape = PlanShape.Origin("withWatermark", name, ColumnId(1), PlanShape.Source("files"))
    val daily = 1000000 / 365
    val before = usedMemory()
    var entry = WatermarkEntry.initial(Nil, -1, 0, 0)
    var longest = 0L
    for (today <- 0 until 365) {
      val now = Begin + today * day
      val times = new MaxEventTimes
      for (device <- math.max(0, today - 29) * daily until (today + 1) * daily)
        times.observe(SplitNameTable.encode(Seq(Some(s"device-$device"))), now)
      val begun = cpu()
      val decision = entry.decide(BatchStart.at(now), rules)
      entry = Observation.observe(
        entry,
        Observation.BatchEnd(entry.batch + 1, BatchStart.at(now), now),
        decision,
        Propagation.levels(shape, decision),
        Observation(Map(name -> Observation.OriginObservation(times, 0L)), Map.empty),
        rules)
      longest = math.max(longest, cpu() - begun)
    }
    val memory = usedMemory() - before
    (entry.splits, memory / 1e6, longest / 1e6, encoded(entry).length / 1e6)
  }

  private def usedMemory(): Long = {
    for (_ <- 0 until 3) System.gc()
    Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory
  }

  /** What one task sends to the driver. Each split is in one task, as a Kafka partition or a file is. */
  private def report(task: Int, tasks: Int, splits: Int): Array[Byte] = {
    val times = new MaxEventTimes
    for (split <- task until splits by tasks)
      times.observe(SplitNameTable.encode(Seq(Some(s"device-$split"))), Begin + split)
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(times)
    bytes.toByteArray
  }

  private def merged(reports: Seq[Array[Byte]]): MaxEventTimes = {
    val all = new MaxEventTimes
    reports.foreach { report =>
      val read = new ObjectInputStream(new ByteArrayInputStream(report)).readObject()
      all.merge(read.asInstanceOf[MaxEventTimes], Int.MaxValue)
    }
    all
  }

  /** One batch after another, from that memory on: ms of each on average, and the memory after them. */
  private def run(shape: PlanShape, from: WatermarkEntry, batches: Int): (Double, WatermarkEntry) = {
    var entry = from
    val begun = cpu()
    for (_ <- 0 until batches) {
      entry = after(shape, entry, BenchmarkPlans.seen(shape, entry.batch.toInt + 1))
      encoded(entry)
    }
    ((cpu() - begun) / 1e6 / batches, entry)
  }

  /** As in a batch of the engine: the watermarks of two batches are worked out, and what was seen is taken in. */
  private def after(shape: PlanShape, before: WatermarkEntry, seen: Observation): WatermarkEntry = {
    val batch = before.batch + 1
    Propagation.levels(shape, before.decision)
    val now = Propagation.levels(shape, before.standing)
    Observation.observe(
      before,
      Observation.BatchEnd(batch, BatchStart.at(batch), batch),
      before.standing,
      now,
      seen,
      Map.empty)
  }

  private def encoded(entry: WatermarkEntry): Array[Byte] = EntryCodec.encode(entry, None).data

  /** ms of CPU time of one call, the median of so many after the same number of calls to warm up. */
  private def millis(calls: Int)(call: => Any): Double = {
    for (_ <- 0 until calls) call
    val took = Seq.fill(calls) {
      val begun = cpu()
      call
      cpu() - begun
    }
    took.sorted.apply(calls / 2) / 1e6
  }

  private def cpu(): Long = threads.getCurrentThreadCpuTime
}
