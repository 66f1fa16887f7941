package io.tidemark

import java.nio.file.{Files, Path}
import java.time.ZoneOffset

import scala.util.Using

import io.tidemark.core.OriginName
import io.tidemark.core.why.{
  Flowing,
  HeldBySplit,
  InputVerdict,
  LateVerdict,
  NextResult,
  Situation,
  TimeUnitGuess,
  Verdict,
  Words,
  WrongTime
}

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
    WrongTime.FarAhead(windows, orders, 4102444800000L, noon, 5000),
    LateVerdict.AllLate(windows, Some(orders), 5000, 3 * hour),
    WrongTime.WrongUnit(windows, orders, noon / 1000, TimeUnitGuess.of(noon / 1000, noon + hour).get, isAhead = false),
    WrongTime.ClockFarAhead(windows, orders, Some("pl-7"), 4102444800000L, noon, Some(noon)),
    InputVerdict.HeldByMark(windows, orders, "eu", Situation.Fault(pastEnd.what, pastEnd.fix)),
    InputVerdict.NoEventTime(windows, payments, hasRows = false),
    InputVerdict.NoMarks(windows, orders, "/lake/orders/_tidemark"),
    Verdict.NoDataBatchesOff(windows, noon, None),
    InputVerdict.JoinWaitsForIdle(join, join.name, payments, Some(noon), Some(600000)),
    InputVerdict.AllSilent(windows, payments, Some(noon), Some(noon + 760000), Some(600000)),
    HeldBySplit(
      windows,
      payments,
      split,
      Some(2 * hour + 30 * 60000),
      noon,
      notedIn = None,
      resumes = Some(next(noon - hour).copy(movedBy = NextResult.MovedBy.Splits))),
    InputVerdict.HeldByInput(
      windows,
      payments,
      noon,
      Some(noon + 760000),
      orders,
      noon + hour,
      noon,
      resumes = Some(next(noon + hour).copy(origin = Some(payments)))),
    Verdict.NeverEvicts(join, Some("left")),
    LateVerdict.SomeLate(windows, Some(orders), 130, 2800, 14, 3 * hour, Some(3 * hour + 600001), isSplit = false),
    Flowing(windows, Some(orders), noon + 600000, Some(600000), Some(next(noon + hour))))

  private def next(end: Long) =
    NextResult(NextResult.Window(end, isInState = true), None, end + 600000, None, NextResult.MovedBy.EventTimes, false)

  def rows: Seq[Seq[String]] = Seq("case", "sentence", "fix this by") +: examples.map { verdict =>
    Seq(s"[${verdict.code}](#${verdict.code.toLowerCase})", verdict.sentence(words), verdict.fix(words).getOrElse(""))
  }

  /** Every case that the code has. */
  def codes: Set[String] = {
    val folder = RoomsSuite.root.resolve("jvm/src/main/scala/io/tidemark/core/why")
    val sources = Using.resource(Files.list(folder))(_.toArray.map(file => Files.readString(file.asInstanceOf[Path])))
    sources.flatMap(
      raw"""extends (?:\w*Verdict|AheadOfClock)\(\s*"([A-Z_]+)"""".r.findAllMatchIn(_).map(_.group(1))).toSet
  }
}
