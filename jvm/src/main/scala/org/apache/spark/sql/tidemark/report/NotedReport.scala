package org.apache.spark.sql.tidemark.report

import io.tidemark.{NotedTimeErrors, TidemarkError}
import io.tidemark.core.{Input, OriginName, Watermark}
import io.tidemark.core.memory.OriginState

import org.apache.spark.sql.tidemark.batch.NotedAhead
import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.marks.NotedView

/** What a report shows of an input whose clocks are the marks of its writers: its time window, what the next mark of each
  * writer waits for, and the rows that broke a promise.
  *
  * @param view what was found last in the mark log; `None` if this run has not read it yet
  * @param broken the rows of this run that were late by the marks; `None` if that is not known
  */
private[tidemark] final class NotedReport(origin: PlanOrigin, view: Option[NotedView], broken: Option[LateRows]) {
  import Json.obj

  /** Empty for an input whose clocks are not marks. */
  def fields(state: OriginState, now: Watermark): Seq[(String, Any)] = origin.rules.noted.toSeq.map { log =>
    "noted" -> obj(
      "location" -> log.location,
      "log_read_ms" -> view.flatMap(_.logMillis).map(Long.box).orNull,
      "lower_ms" -> now.millis.map(Long.box).orNull,
      "upper_ms" -> NotedAhead.millis(state.splits, state.writers).map(Long.box).orNull,
      "ended" -> state.writers.values.count(_.isEnded),
      "skipped_lines" -> obj(view.toSeq.flatMap(_.skipped.toSeq.sorted): _*),
      "promises_broken" -> broken.map(late => obj("rows" -> late.rows, "most_ms" -> late.mostMillis)).orNull)
  }

  /** What a writer has noted ahead of what is read; null if nothing. */
  def ahead(writer: String, state: OriginState): AnyRef = {
    val progress = view.flatMap(_.progress(writer))
    val waitsFor = view.flatMap(_.waitsFor(writer))
    val isBroken = progress.exists(_.isBroken)
    val isDamaged = progress.exists(_.isCutOff)
    val farAhead = progress.flatMap(_.farAheadMillis)
    val next = state.writers.get(writer).flatMap(_.nextMillis)
    if (waitsFor.isEmpty && !isBroken && !isDamaged && farAhead.isEmpty && next.isEmpty) null
    else
      obj(
        "time_ms" -> next.map(Long.box).orNull,
        "waits_for" -> waitsFor.map(_.what).orNull,
        "why" -> waitsFor.flatMap(_.why).orNull,
        "at" -> waitsFor.flatMap(_.at).map(Long.box).orNull,
        "read" -> waitsFor.flatMap(_.read).map(Long.box).orNull,
        "is_broken" -> isBroken,
        "is_damaged" -> isDamaged,
        "far_ahead_ms" -> farAhead.map(Long.box).orNull)
  }

  /** A writer's last mark that was passed, and when it last said something new; null if none was. */
  def mark(writer: String, state: OriginState): AnyRef =
    (for (known <- state.writers.get(writer); place <- known.passed)
      yield obj("epoch" -> place.epoch, "number" -> place.number, "last_news_ms" -> known.lastActiveMillis)).orNull

  /** Since when a writer has noted no later time that is passed; null if this run has not looked yet. */
  def holdingSince(writer: String): AnyRef = view.flatMap(_.holdingSince.get(writer)).map(Long.box).orNull

  /** What a user should know of the log, and of the marks of these writers. */
  def hints(writers: Seq[String]): Seq[TidemarkError] = origin.rules.noted.toSeq.flatMap { log =>
    Option.when(view.exists(_.isCut) && !log.onlyExpected)(NotedTimeErrors.MarksRemoved(log.location)) ++
      view.toSeq.flatMap(_.hints(log, writers))
  }
}

private[tidemark] object NotedReport {

  /** A report of another time than that of a running query has no view. */
  def of(
      origin: PlanOrigin,
      views: Map[OriginName, NotedView],
      lateRows: Map[Input, LateRows.Total],
      promised: Map[Input, Seq[OriginName]]): NotedReport = {
    val inputs = promised.collect { case (input, origins) if origins.contains(origin.name) => input }
    val late = inputs.flatMap(lateRows.get).map(_.all).foldLeft(LateRows.none)(_ + _)
    new NotedReport(origin, views.get(origin.name), Option.when(inputs.nonEmpty)(late))
  }
}
