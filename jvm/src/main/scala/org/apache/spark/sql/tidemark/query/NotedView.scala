package org.apache.spark.sql.tidemark.query

import io.tidemark.core.noted.{NotedWriters, Place, ReadPosition, WaitsFor, WriterProgress}

/** What was found when the marks of an input were last compared with what the query has read: for reports, from any thread.
  *
  * @param skipped how many lines of the log cannot be used, by the reason
  * @param isCut whether marks of writers that are not known may have been removed
  * @param stuckSince the marks that are ahead though nothing is left to read: each writer's, and since when (ms)
  * @param atMillis when that was, by the query's clock
  */
private[tidemark] final case class NotedView(
    read: ReadPosition,
    writers: NotedWriters,
    skipped: Map[String, Int],
    isCut: Boolean,
    stuckSince: Map[String, (Place, Long)],
    atMillis: Long) {

  def progress(writer: String): Option[WriterProgress] = writers.writers.get(writer)

  /** What a writer's next mark waits for. */
  def waitsFor(writer: String): Option[WaitsFor] =
    progress(writer).filterNot(_.isBroken).flatMap { one =>
      if (one.waitsForPurged) Some(WaitsFor.Purged) else one.next.flatMap(WaitsFor(_, read))
    }

  /** Whether a writer's next mark is at a position that the input does not seem to have. Rows and their mark arrive one after
    * the other, so this is not said at once.
    */
  def isPastTheEnd(writer: String): Boolean =
    stuckSince.get(writer).exists(_._2 <= atMillis - NotedView.SettledMillis) && waitsFor(writer).nonEmpty

  /** The same at a later time.
    * @param isAtEnd whether nothing is left to read of the input
    */
  def at(nowMillis: Long, isAtEnd: Boolean): NotedView = copy(
    stuckSince =
      if (!isAtEnd) Map.empty
      else
        for {
          (writer, one) <- writers.writers
          place <- one.next.map(_.place)
        } yield writer -> stuckSince.get(writer).filter(_._1 == place).getOrElse(place -> nowMillis),
    atMillis = nowMillis)
}

private[tidemark] object NotedView {
  private val SettledMillis = 10000L
}
