package io.tidemark.core.memory

import io.tidemark.core.EventTimeUnits

/** Finds the batch of a query at whose end a time divides the query's input, from the entries that still exist.
  *
  * Neither the watermark of an input nor its largest event time ever goes back, unless a person has corrected it. So a few
  * entries are enough: the search halves the batches each time.
  *
  * @param batches the committed batches with an entry, in order
  * @param read what an input had reached at the end of such a batch; `None` if its entry does not have the input
  * @param corrected those of the batches whose entries were corrected, the last one first
  */
final class CutSearch(
    batches: IndexedSeq[Long],
    read: Long => Option[CutSearch.Reached],
    corrected: Seq[Long] = Nil) {
  import CutSearch._

  /** The first batch after which the watermark is at `timeMicros` or later: all rows up to that time have been read. */
  def complete(timeMicros: Long): Either[Missing, Long] = {
    def isPast(batch: Long) = read(batch).exists(_.isComplete(timeMicros))
    val batches = advancing(isPast)
    first(batches)(isPast) match {
      case None => Left(NotYet(batches.last, read(batches.last).flatMap(_.watermarkMillis)))
      case Some(0) if batches.head > 0 => Left(Forgotten(batches.head, read(batches.head).flatMap(_.watermarkMillis)))
      case Some(found) => Right(batches(found))
    }
  }

  /** The last batch that has read no row later than `timeMicros`. Batches without an entry may have read any row. */
  def before(timeMicros: Long): Either[Missing, Long] = {
    def isPast(batch: Long) = !read(batch).exists(_.isBefore(timeMicros))
    val batches = advancing(isPast)
    val known = batches.indices.drop(1).find(at => batches(at) != batches(at - 1) + 1).fold(batches)(batches.take)
    // If the first batch is known to be before the time, all batches after it have the input, and their times only advance.
    if (isPast(known.head))
      Left(Forgotten(known.head, read(known.head).flatMap(_.latestMillis).filter(_ < Long.MaxValue)))
    else Right(first(known)(isPast).fold(known.last)(at => known(at - 1)))
  }

  /** The batches to search. A correction sets times back, and they only advance from one correction to the next. If a
    * corrected batch is before the time, earlier batches do not matter.
    */
  private def advancing(isPast: Long => Boolean): IndexedSeq[Long] = {
    val (later, earlier) = corrected.span(isPast)
    batches.filter(batch => earlier.headOption.forall(_ <= batch) && later.lastOption.forall(_ >= batch))
  }
}

object CutSearch {

  /** What an input had reached at the end of a batch.
    *
    * @param watermarkMillis its watermark, if it has one
    * @param latestMillis the largest event time that was read, rounded down; `Long.MaxValue` if that is unknown
    */
  final case class Reached(watermarkMillis: Option[Long], latestMillis: Option[Long]) {

    private[memory] def isComplete(timeMicros: Long): Boolean =
      watermarkMillis.exists(_ >= EventTimeUnits.millisFrom(timeMicros))

    // A time of which only the ms are known may be up to 999 µs later.
    private[memory] def isBefore(timeMicros: Long): Boolean =
      latestMillis.forall(_ < EventTimeUnits.millis(if (timeMicros == Long.MaxValue) timeMicros else timeMicros + 1))
  }

  object Reached {

    /** What several inputs have reached together: the earliest watermark, idle or not, and the largest event time. */
    def of(states: Seq[OriginState]): Option[Reached] = Option.when(states.nonEmpty) {
      val watermarks = states.map(_.watermark.millis)
      Reached(if (watermarks.contains(None)) None else watermarks.flatten.minOption, states.flatMap(latest).maxOption)
    }

    // An input that has a watermark and no event time continues from batches that ran without Tidemark.
    private def latest(state: OriginState): Option[Long] =
      state.maxEventTimeMillis.orElse(Option.when(state.watermark.millis.nonEmpty)(Long.MaxValue))
  }

  /** The index of the first batch for which `isPast` is true, as it is for all batches after it. */
  private def first(batches: IndexedSeq[Long])(isPast: Long => Boolean): Option[Int] = {
    var (from, until) = (0, batches.size)
    while (from < until) {
      val middle = (from + until) >>> 1
      if (isPast(batches(middle))) until = middle else from = middle + 1
    }
    Option.when(from < batches.size)(from)
  }

  /** Why there is no such batch. */
  sealed trait Missing

  /** The watermark has not come that far: it is here after the last batch. */
  final case class NotYet(batch: Long, watermarkMillis: Option[Long]) extends Missing

  /** The oldest entry is past the time already: it has this watermark, or this largest event time, if that is known. */
  final case class Forgotten(batch: Long, reachedMillis: Option[Long]) extends Missing
}
