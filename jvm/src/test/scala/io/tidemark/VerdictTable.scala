package io.tidemark

import java.nio.file.Files
import java.time.ZoneOffset

import io.tidemark.core.OriginName
import io.tidemark.core.why.{InputVerdict, Situation, Verdict, Words}

/** The table in docs/why.md: each case with a sentence, in the order in which [[io.tidemark.core.why.Diagnosis]] tries them. */
object VerdictTable {
  private val words = new Words(ZoneOffset.UTC)
  private val (orders, payments) = (OriginName("orders", 0), OriginName("payments", 0))
  private val noon = 1714564800000L
  private val hour = 3600000L

  private val windows = Verdict.Operator("aggregation #0")
  private val join = Verdict.Operator("join (left outer) #0", Verdict.Stays.RowsWithoutMatch)
  private val split =
    Situation.Split("pl-7", Some(noon - 2 * hour - 20 * 60000), Some(noon + 760000), leftOut = None)

  private val pastEnd = NotedTimeErrors.MarkPastEnd(
    "eu",
    "/lake/orders/_tidemark",
    "file 7.parquet, which does not exist",
    "number 7 of life 1")

  val examples: Seq[Verdict] = Seq(
    Verdict.LeftToSpark("spark.sql.streaming.multipleWatermarkPolicy=max"),
    Verdict.NoWatermark,
    Verdict.Failed(Some(7), "disk full", Some(windows -> Some(noon))),
    Verdict.NoBatchYet(isRestart = true),
    Verdict.NoOperatorWaits,
    Verdict.EmitsAll(windows),
    InputVerdict.FarAhead(windows, orders, 4102444800000L, noon, 5000),
    Verdict.AllLate(windows, Some(orders), 5000, 3 * hour),
    InputVerdict.ClockFarAhead(windows, orders, Some("pl-7"), 4102444800000L, noon),
    InputVerdict.HeldByMark(windows, orders, "eu", Situation.Fault(pastEnd.what, pastEnd.fix)),
    InputVerdict.NoEventTime(windows, payments, hasRows = false),
    InputVerdict.NoMarks(windows, orders, "/lake/orders/_tidemark"),
    Verdict.NoDataBatchesOff(windows, noon, None),
    InputVerdict.JoinWaitsForIdle(join, join.name, payments, Some(noon), Some(600000)),
    InputVerdict.AllSilent(windows, payments, Some(noon), Some(noon + 760000), Some(600000)),
    InputVerdict.HeldBySplit(windows, payments, split, Some(2 * hour + 30 * 60000), noon, notedIn = None),
    InputVerdict.HeldByInput(windows, payments, noon, Some(noon + 760000), orders, noon + hour, noon),
    Verdict.NeverEvicts(join, Some("left")),
    Verdict.SomeLate(windows, Some(orders), 130, 2800, 14, 3 * hour, Some(3 * hour + 600001), isSplit = false),
    Verdict.Flowing(windows, Some(orders), noon + 600000, Some(600000), Some(noon + hour), None, Some(600000)))

  def rows: Seq[Seq[String]] = Seq("case", "sentence", "fix this by") +: examples.map { verdict =>
    Seq(s"[${verdict.code}](#${verdict.code.toLowerCase})", verdict.sentence(words), verdict.fix(words).getOrElse(""))
  }

  /** Every case that the code has. */
  def codes: Set[String] = {
    val folder = RoomsSuite.root.resolve("jvm/src/main/scala/io/tidemark/core/why")
    val sources = Seq("Verdict", "InputVerdict").map(name => Files.readString(folder.resolve(s"$name.scala")))
    sources.flatMap(raw"""extends \w*Verdict\(\s*"([A-Z_]+)"""".r.findAllMatchIn(_).map(_.group(1))).toSet
  }
}
