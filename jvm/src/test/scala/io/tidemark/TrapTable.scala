package io.tidemark

import java.nio.file.Files

import io.tidemark.core.why.{InputTrap, OperatorTrap, Trap}

/** The table in docs/explain.md: each finding that is of the plan alone, with its sentence. */
object TrapTable {

  val examples: Seq[Trap] = Seq(
    OperatorTrap.NoEventTimeAppend("aggregation by user"),
    OperatorTrap.GroupsByNoEventTime("aggregation by user", "at", isAppend = true),
    OperatorTrap.MarkLost("aggregation by day", "day", "CAST(at AS DATE)", "at", isAppend = true, mayBeMarked = false),
    OperatorTrap.MarkOfOtherFrame("aggregation by window", "at", isAppend = true),
    OperatorTrap.OuterJoinNoBound("join (left outer)"),
    OperatorTrap.StateTimeoutNoWatermark("function with state"),
    OperatorTrap.UpdateChain("aggregation by window"),
    Trap.SparkRefuses("Sorting is not supported on streaming DataFrames"),
    OperatorTrap.DedupForever("dropDuplicates by id"),
    OperatorTrap.NeverEvicts("join (inner) #0", "right"),
    OperatorTrap.NoDataBatchesOff("aggregation #0"),
    Trap.LeftToSpark("spark.sql.streaming.multipleWatermarkPolicy=max"),
    Trap.NoIdleTime("payments", Seq("join (left outer) #0"), part = None, onlyState = false, atJoin = true),
    OperatorTrap.JoinWaitsForIdle("payments", "join (inner) #0", 600000L),
    OperatorTrap.OuterRowsWait("join (left outer) #0", "left", Seq("payments"), hasIdleTime = false),
    OperatorTrap.LastWindowStays("aggregation #0"),
    OperatorTrap.DedupEqualTimes("dropDuplicates by id, at", "at"),
    InputTrap.KafkaOneClock("orders"),
    InputTrap.FarFuture("orders"),
    InputTrap.AvailableNowNeverListens("orders"),
    InputTrap.DelayZero("orders"),
    InputTrap.EventTimeIsNow("orders", "current_timestamp()"),
    InputTrap.EventTimeMayBeNull("orders", "try_to_timestamp(text)"),
    InputTrap.NotedWindowEnd("time", "window.end"),
    Trap.NotedOutputEnd("end", "window"),
    InputTrap.WatermarkAfter("start", "aggregation by window"),
    InputTrap.WatermarkUnused("orders"))

  def rows: Seq[Seq[String]] = Seq("code", "severity", "sentence", "fix this by") +: examples.map { trap =>
    Seq(s"`${trap.code}`", trap.severity.name, trap.sentence, trap.fix)
  }

  /** Every case that the code has. */
  def codes: Set[String] = {
    val folder = RoomsSuite.root.resolve("jvm/src/main/scala/io/tidemark/core/why")
    val sources = Seq("Trap", "OperatorTrap", "InputTrap").map(name => Files.readString(folder.resolve(s"$name.scala")))
    sources.flatMap(raw"""extends \w*Trap\(\s*"([A-Z_]+)"""".r.findAllMatchIn(_).map(_.group(1))).toSet
  }
}
