package org.apache.spark.sql.tidemark.support

import org.apache.spark.sql.tidemark.columns.LateRowRule
import org.apache.spark.sql.tidemark.columns.LateRowRule._

/** The table in docs/late.md: the words for each kind of operator in [[LateRowRule]], and what drops its late rows. */
object LateRowTable {

  /** The head of the table, and its rows. */
  def rows: Seq[Seq[String]] =
    Seq("operator", "what drops late rows", "what decides that a row is late", "column for `is_late`") +:
      LateRowRule.all.flatMap { kind =>
        operators(kind).map { case (operator, decides, column) => Seq(operator, dropper(kind), decides, column) }
      }

  private def operators(kind: LateRowRule): Seq[(String, String, String)] = kind match {
    case Join => Seq(("stream-stream join", "on each side, that side's active column", "that column, on each side"))
    case Aggregation =>
      Seq(
        (
          "window aggregation, append and update mode",
          "the end of the window in the grouping",
          """the window: `F.window("time", ...)`"""),
        (
          "aggregation by a time, without a window",
          "the first event-time column among its keys",
          "that column"),
        (
          "session window, append and update mode",
          "the end of the session of this row alone, before sessions are merged",
          """the session: `F.session_window("time", ...)`"""))
    case CompleteAggregation => Seq(("any aggregation in complete mode", "-", "-"))
    case Deduplication =>
      Seq((
        "`dropDuplicates`, `dropDuplicatesWithinWatermark`",
        "the first event-time column among the keys, else the event-time column",
        "that column"))
    case EventTimeFunction =>
      Seq(
        (
          "`mapGroupsWithState`, `flatMapGroupsWithState`, `applyInPandasWithState` with an event-time timeout",
          "the event-time column",
          "that column"),
        (
          "`transformWithState`, `transformWithStateInPandas` in event-time mode",
          "the event-time column",
          "that column"))
    case Order => Seq(("`in_order`", named, "that column"))
    case PassingOrder => Seq(("`in_order` with `late=\"pass\"`", named, "that column"))
    case NoEventTime => Seq(("a limit, and functions with state in other modes", "-", "-"))
  }

  private val named = "the event-time column, or the end of the window, that it names"

  private def dropper(kind: LateRowRule): String = (kind.withInput, kind.withoutInput) match {
    case _ if kind == PassingOrder => "nothing: late rows are passed on, and counted"
    case (Dropper.Input, Dropper.Operator) => "Spark; Tidemark if several event-time columns come in"
    case (Dropper.Input, _) => "Tidemark"
    case (Dropper.Operator, _) => "Spark"
    case (Dropper.Nothing, _) => "nothing: no row is late"
  }
}
