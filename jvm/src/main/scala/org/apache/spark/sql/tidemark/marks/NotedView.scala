package org.apache.spark.sql.tidemark.marks

import java.time.Instant

import io.tidemark.{NotedTimeErrors, TidemarkError}
import io.tidemark.core.memory.NotedBy
import io.tidemark.core.noted.{MarkId, NotedWriters, SourcePosition, WaitsFor, WriterProgress}

/** What was found when the marks of an input were last compared with what the query has read: for reports, from any thread.
  *
  * @param skipped how many lines of the log cannot be used, by the reason
  * @param isCut whether marks of writers that are not known may have been removed
  * @param stuckSince the marks that are ahead though nothing is left to read, or a file of which may never be read: each
  *   writer's, and since when (ms)
  * @param holdingSince since when each writer has noted no later time that is passed (ms), as far as this run knows
  * @param logMillis when the reading of the log began that found these marks, by the query's clock
  * @param atMillis when they were compared, by the same clock
  */
private[tidemark] final case class NotedView(
    read: SourcePosition,
    writers: NotedWriters,
    skipped: Map[String, Int],
    isCut: Boolean,
    stuckSince: Map[String, (MarkId, Long)],
    holdingSince: Map[String, Long],
    logMillis: Option[Long],
    atMillis: Long) {

  def progress(writer: String): Option[WriterProgress] = writers.writers.get(writer)

  /** What a writer's next mark waits for. */
  def waitsFor(writer: String): Option[WaitsFor] =
    progress(writer).filterNot(_.isBroken).flatMap { state =>
      if (state.waitsForPurged) Some(WaitsFor.Purged) else state.next.flatMap(WaitsFor(_, read))
    }

  /** Whether a writer's next mark is at a position that the input does not seem to have. Rows and their mark arrive one after
    * the other, so this is only true after a while.
    */
  def isPastTheEnd(writer: String): Boolean =
    stuckSince.get(writer).exists(_._2 <= atMillis - NotedView.SettledMillis) && waitsFor(writer).nonEmpty

  /** What a user should know of the marks of some writers. */
  def hints(log: NotedBy, of: Iterable[String]): Seq[TidemarkError] =
    of.toSeq.flatMap(writer => progress(writer).toSeq.flatMap(hintsOf(log.location, writer, _)))

  private def hintsOf(location: String, writer: String, state: WriterProgress): Seq[TidemarkError] = Seq(
    state.next.filter(_ => state.isBroken).map(next => NotedTimeErrors.MarkChainBroken(writer, location, next.number)),
    Option.when(state.isCutOff)(NotedTimeErrors.MarksDamaged(writer, location)),
    for (next <- state.next if isPastTheEnd(writer); waits <- waitsFor(writer)) yield NotedTimeErrors.MarkPastEnd(
      writer,
      location,
      waits.toString,
      s"number ${next.number} of life ${next.epoch}"),
    state.farAheadMillis.map(millis => NotedTimeErrors.MarkFarAhead(writer, location, NotedView.shown(millis)))).flatten

  /** The same at a later time.
    * @param before what was shown before; `None` for the first view of a run
    * @param isAtEnd whether nothing is left to read of the input
    * @param isLast whether the run may have ended before both a mark and its file have arrived
    */
  def at(nowMillis: Long, before: Option[NotedView], isAtEnd: Boolean, isLast: Boolean): NotedView = copy(
    stuckSince = for {
      (writer, state) <- writers.writers
      place <- state.next.map(_.place)
      isHopeless = waitsFor(writer).exists(_.why.nonEmpty) if isAtEnd || isHopeless
      since = before.flatMap(_.stuckSince.get(writer)).filter(_._1 == place)
    } yield writer -> since.getOrElse(
      place -> (if (isLast && isHopeless) nowMillis - NotedView.SettledMillis else nowMillis)),
    holdingSince = writers.writers.map { case (writer, state) =>
      val since = if (state.timeMillis.isEmpty) before.flatMap(_.holdingSince.get(writer)) else None
      writer -> since.getOrElse(nowMillis)
    },
    atMillis = nowMillis)
}

private[tidemark] object NotedView {
  private val SettledMillis = 10000L

  /** A noted time need not be a clock time. */
  private def shown(millis: Long): String =
    if (math.abs(millis) > MostMillis) s"$millis ms" else Instant.ofEpochMilli(millis).toString

  private val MostMillis = 253402300799999L
}
