package org.apache.spark.sql.tidemark.marks

import io.tidemark.{NotedTimeErrors, TidemarkError, TidemarkException}
import io.tidemark.core.{EventTimeUnits, OriginName}
import io.tidemark.core.memory.{NotedBy, Observation, OriginState, WatermarkEntry}
import io.tidemark.core.noted.{MarkId, NotedWriters, PositionMismatch, SourcePosition, WriterState}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.tidemark.columns.{OriginsOfPlan, PlanOrigin}
import org.apache.spark.sql.tidemark.noted.{BackgroundLog, MarkLogContents, MarkSource}

/** The marks of a query's noted inputs, compared with what the query has read.
  *
  * Marks are taken in when a batch ends, and what they say is durable with the batch's entry. So a batch that runs again is
  * decided the same. The logs are read beside the batch, on other threads. All methods but [[view]] are called on the
  * query's thread.
  *
  * @param label the query's name, for messages
  * @param open finds a mark log
  * @param position what has been read of an input; `None` while nothing has
  * @param isAtEnd whether nothing is left to read of it
  * @param endsByItself whether the run has no later triggers that could find what the first one has not read
  */
private[tidemark] final class NotedInputs(
    label: String,
    origins: OriginsOfPlan,
    open: NotedBy => MarkSource,
    position: PlanOrigin => Option[SourcePosition],
    isAtEnd: PlanOrigin => Boolean,
    endsByItself: Boolean)
    extends Logging {
  import NotedInputs._

  private val inputs = origins.all.filter(_.rules.noted.nonEmpty)
  private lazy val logs = inputs.map(origin => origin.name -> log(origin)).toMap

  // What was read of a log for the last question about news, and the answer.
  private var lastViews = Map.empty[OriginName, (MarkLogContents, NotedView)]

  // What was warned of, by input and writer: the newest thing of each.
  private var warned = Map.empty[(OriginName, String), Set[String]]

  @volatile private var views = Map.empty[OriginName, NotedView]

  /** What was found last, from any thread. */
  def view: Map[OriginName, NotedView] = views

  /** A batch begins: the logs are read while it runs. */
  def batchBegins(entry: WatermarkEntry, nowMillis: Long): Unit = if (inputs.nonEmpty) {
    lastViews = Map.empty
    inputs.foreach(origin => logs(origin.name).read(passed(origin, entry), nowMillis))
  }

  /** What the marks of an input say when a batch has ended.
    * @param entry that of the batch before; @param startMillis the processing time of the batch
    */
  def passedBy(origin: PlanOrigin, entry: WatermarkEntry, startMillis: Long): NotedWriters =
    logs(origin.name).awaited.fold(NotedWriters.unchanged(before(origin, entry))) { found =>
      val view = compare(origin, found, entry, startMillis)
      show(origin, view, startMillis, isAtEnd(origin))
      view.writers
    }

  /** What a no-data batch would find that is not in the last entry. Each trigger without rows asks, and none waits for a log
    * but the first one of a run that would end without an answer.
    */
  def news(entry: WatermarkEntry, startMillis: Long): Map[OriginName, Observation.OriginObservation] =
    inputs.flatMap { origin =>
      val log = logs(origin.name)
      log.readAfterPause(passed(origin, entry), startMillis)
      for {
        found <- if (endsByItself && log.latest.isEmpty) log.awaited else log.latest
        writers = glance(origin, found, entry, startMillis).writers if writers.states != before(origin, entry)
      } yield origin.name -> Observation.OriginObservation.noted(writers, origin.rules.delayMillis, latestMillis = None)
    }.toMap

  /** Whether writers that send nothing but signs of life would soon count as silent, if no batch took their marks in. */
  def keepsActive(
      news: Map[OriginName, Observation.OriginObservation],
      entry: WatermarkEntry,
      startMillis: Long): Boolean = inputs.exists { origin =>
    news.get(origin.name).flatMap(_.marks).exists(_.active.nonEmpty) &&
    origin.rules.idleAfterMillis.exists(after => startMillis - entry.endMillis >= after / 2)
  }

  /** The query has ended; from any thread. */
  def close(): Unit = if (inputs.nonEmpty) logs.values.foreach(_.close())

  private def glance(
      origin: PlanOrigin,
      found: MarkLogContents,
      entry: WatermarkEntry,
      startMillis: Long): NotedView = {
    val view = lastViews.get(origin.name).collect { case (of, view) if of eq found => view }.getOrElse {
      val view = compare(origin, found, entry, startMillis)
      lastViews += origin.name -> (found -> view)
      view
    }
    // With rows to read, the position is already that of the next batch.
    if (isAtEnd(origin)) show(origin, view, startMillis, atEnd = true)
    view
  }

  private def show(origin: PlanOrigin, view: NotedView, nowMillis: Long, atEnd: Boolean): Unit = {
    val now = view.at(nowMillis, views.get(origin.name), atEnd, isLast = endsByItself)
    views += origin.name -> now
    now.writers.writers.foreach { case (writer, progress) =>
      if (progress.isBroken || progress.isCutOff || progress.farAheadMillis.nonEmpty || now.isPastTheEnd(writer))
        now.hints(origin.rules.noted.get, Seq(writer)).foreach(warnOnce(origin.name, writer, _))
    }
  }

  /** A time that is too far ahead is told once of a writer, as each mark may have another. */
  private def warnOnce(input: OriginName, writer: String, hint: TidemarkError): Unit = {
    val subject = hint match {
      case past: NotedTimeErrors.MarkPastEnd => s"${past.code} ${past.mark}"
      case other => other.code
    }
    val before = warned.getOrElse((input, writer), Set.empty[String])
    if (!before(subject) && (warned.size < MostWarned || before.nonEmpty)) {
      logWarning(s"${prefix(input)} ${hint.message}")
      // A later mark takes the place of the one before.
      warned += (input, writer) -> (before.filterNot(_.startsWith(hint.code)) + subject)
    }
  }

  private def prefix(input: OriginName) = s"Tidemark, query $label, input '$input':"

  private def compare(
      origin: PlanOrigin,
      found: MarkLogContents,
      entry: WatermarkEntry,
      startMillis: Long): NotedView = {
    def latest(millis: Long) = origin.rules.maxAheadMillis.map(EventTimeUnits.saturatedPlus(millis, _))
    val read = position(origin).getOrElse(SourcePosition.Nothing)
    try {
      val writers =
        NotedWriters(found.histories, before(origin, entry), read, latest(startMillis), latest(entry.timestampMillis))
      NotedView(
        read,
        writers,
        found.skipped,
        found.isCut,
        Map.empty,
        Map.empty,
        logs(origin.name).latestMillis,
        startMillis)
    } catch {
      case e: PositionMismatch =>
        throw new TidemarkException(NotedTimeErrors.MarkPositionMismatch(e.writer, e.position, e.other), e)
    }
  }

  private def log(origin: PlanOrigin): BackgroundLog = {
    val noted = origin.rules.noted.get
    val expected = origin.rules.expected.map(_.toSeq).toSet
    def isExpected(writer: String) = expected(OriginState.split(writer).toSeq)
    new BackgroundLog(
      noted.location,
      open(noted),
      writer => !noted.onlyExpected || isExpected(writer),
      label = prefix(origin.name))
  }
}

private object NotedInputs {

  // Of so many writers each has its own warnings. Of more, the report has those that hold the watermark.
  private val MostWarned = 100

  private def before(origin: PlanOrigin, entry: WatermarkEntry): Map[String, WriterState] =
    entry.origins.get(origin.name).fold(Map.empty[String, WriterState])(_.writers)

  private def passed(origin: PlanOrigin, entry: WatermarkEntry): Map[String, MarkId] =
    for { (writer, state) <- before(origin, entry); place <- state.passed } yield writer -> place
}
