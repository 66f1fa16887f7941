package org.apache.spark.sql.tidemark.report

import io.tidemark.{NotedTimeErrors, TidemarkError}
import io.tidemark.core.{Input, OriginName, Watermark}
import io.tidemark.core.memory.OriginState

import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.exec.LateRows
import org.apache.spark.sql.tidemark.query.{NotedAhead, NotedView}

/** What a report shows of an input that goes by the marks of its writers: its time window, what the next mark of each writer
  * waits for, and the rows that broke a promise.
  *
  * @param view what was found last in the mark log; `None` if this run has not read it yet
  * @param broken the rows of this run that were late by the marks; `None` if that is not known
  */
private[tidemark] final class NotedReport(one: PlanOrigin, view: Option[NotedView], broken: Option[LateRows]) {
  import Json.obj

  /** Empty for an input that does not go by marks. */
  def fields(state: OriginState, now: Watermark): Seq[(String, Any)] = one.rules.noted.toSeq.map { log =>
    "noted" -> obj(
      "location" -> log.location,
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
    val farAhead = progress.flatMap(_.farAheadMillis)
    val next = state.writers.get(writer).flatMap(_.nextMillis)
    if (waitsFor.isEmpty && !isBroken && farAhead.isEmpty && next.isEmpty) null
    else
      obj(
        "time_ms" -> next.map(Long.box).orNull,
        "waits_for" -> waitsFor.map(_.what).orNull,
        "at" -> waitsFor.flatMap(_.at).map(Long.box).orNull,
        "read" -> waitsFor.flatMap(_.read).map(Long.box).orNull,
        "is_broken" -> isBroken,
        "far_ahead_ms" -> farAhead.map(Long.box).orNull)
  }

  /** What a user should know of the log, and of the marks of these writers. */
  def notes(writers: Seq[String]): Seq[TidemarkError] =
    one.rules.noted.toSeq.filter(log => view.exists(_.isCut) && !log.onlyExpected)
      .map(log => NotedTimeErrors.MarksRemoved(log.location)) ++ notesOf(writers)

  private def notesOf(writers: Seq[String]): Seq[TidemarkError] = for {
    log <- one.rules.noted.toSeq
    found <- view.toSeq
    writer <- writers
    progress <- found.progress(writer).toSeq
    note <- Seq(
      progress.next.filter(_ => progress.isBroken).map { next =>
        NotedTimeErrors.MarkChainBroken(writer, log.location, next.number)
      },
      Option.when(found.isPastTheEnd(writer))(found.waitsFor(writer)).flatten.map { waits =>
        NotedTimeErrors.MarkPastEnd(writer, log.location, waits.toString)
      },
      progress.farAheadMillis.map(millis =>
        NotedTimeErrors.MarkFarAhead(writer, log.location, NotedReport.shown(millis)))).flatten
  } yield note
}

private[tidemark] object NotedReport {

  /** A report of another time than that of a running query has no view. */
  def of(
      one: PlanOrigin,
      views: Map[OriginName, NotedView],
      lateRows: Map[Input, LateRows.Total],
      promised: Map[Input, Seq[OriginName]]): NotedReport = {
    val inputs = promised.collect { case (input, origins) if origins.contains(one.name) => input }
    val late = inputs.flatMap(lateRows.get).map(_.all).foldLeft(LateRows.none)(_ + _)
    new NotedReport(one, views.get(one.name), Option.when(inputs.nonEmpty)(late))
  }

  /** A noted time need not be a clock time. */
  private def shown(millis: Long): String =
    if (math.abs(millis) > MostMillis) s"$millis ms" else java.time.Instant.ofEpochMilli(millis).toString

  private val MostMillis = 253402300799999L
}
