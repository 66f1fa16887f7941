package io.tidemark

import java.nio.file.Files

import io.tidemark.core.why.Trap

/** The table in docs/explain.md: each finding that is of the plan alone, with its sentence. */
object TrapTable {

  val examples: Seq[Trap] = Seq(
    Trap.NoEventTimeAppend("aggregation by user"),
    Trap.GroupsByNoEventTime("aggregation by user", "at", isAppend = true),
    Trap.MarkLost("aggregation by day", "day", "CAST(at AS DATE)", "at", isAppend = true),
    Trap.MarkOfOtherFrame("aggregation by window", "at", isAppend = true),
    Trap.OuterJoinNoBound("join (left outer)"),
    Trap.StateTimeoutNoWatermark("function with state"),
    Trap.UpdateChain("aggregation by window"),
    Trap.SparkRefuses("Sorting is not supported on streaming DataFrames"),
    Trap.DedupForEver("dropDuplicates by id"),
    Trap.NeverEvicts("join (inner) #0", "right"),
    Trap.NoDataBatchesOff("aggregation #0"),
    Trap.LeftToSpark("spark.sql.streaming.multipleWatermarkPolicy=max"),
    Trap.NoIdleTime("payments", Seq("join (left outer) #0"), hasSplits = false, onlyState = false),
    Trap.JoinWaitsForIdle("payments", "join (inner) #0"),
    Trap.OuterRowsWait("join (left outer) #0", "left", Seq("payments")),
    Trap.LastWindowStays("aggregation #0"),
    Trap.DedupEqualTimes("dropDuplicates by id, at", "at"),
    Trap.KafkaOneClock("orders"),
    Trap.FarFuture("orders"),
    Trap.AvailableNowNeverListens("orders"),
    Trap.DelayZero("orders"),
    Trap.EventTimeIsNow("orders", "current_timestamp()"),
    Trap.EventTimeMayBeNull("orders", "try_to_timestamp(text)"),
    Trap.NotedWindowEnd("time", "window.end"),
    Trap.NotedOutputEnd("end", "window"),
    Trap.WatermarkAfter("start", "aggregation by window"),
    Trap.WatermarkUnused("orders"))

  def rows: Seq[Seq[String]] = Seq("code", "severity", "sentence", "fix this by") +: examples.map { trap =>
    Seq(s"`${trap.code}`", trap.severity.name, trap.sentence, trap.fix)
  }

  /** Every case that the code has. */
  def codes: Set[String] = {
    val source = Files.readString(RoomsSuite.root.resolve("jvm/src/main/scala/io/tidemark/core/why/Trap.scala"))
    raw"""extends Trap\(\s*"([A-Z_]+)"""".r.findAllMatchIn(source).map(_.group(1)).toSet
  }
}
