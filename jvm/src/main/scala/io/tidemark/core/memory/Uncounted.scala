package io.tidemark.core.memory

import java.util.Arrays

import io.tidemark.core.splits.{MaxEventTimes, Splits}

/** The times that do not count as silence of an origin's splits: pauses, and those in which the query did not run.
  *
  * Such a time makes the last active times of all splits later. This remembers the last few of these times, so that people
  * can be told when a split really had its last rows. Nothing is decided by it.
  *
  * @param spans the oldest first
  * @param forgottenMillis the end of the last span that is no longer remembered
  */
final case class Uncounted(spans: Vector[Uncounted.Span], forgottenMillis: Option[Long]) {
  import Uncounted._

  /** When a split really was last active, if its counted time is this one; `None` if that is no longer known. */
  def lastActive(split: Int, countedMillis: Long): Option[Long] = {
    val at = spans.foldRight(Option(countedMillis)) { (span, later) =>
      later.flatMap { time =>
        if (time > span.untilMillis) Some(time)
        else if (time < span.untilMillis) Some(time - span.millis)
        else span.atEnd.isMoved(split).map(moved => if (moved) time - span.millis else time)
      }
    }
    at.filter(time => forgottenMillis.forall(_ < time))
  }

  /** With one more time, by which the splits are about to be moved. */
  def moving(splits: Splits, millis: Long, untilMillis: Long): Uncounted =
    if (millis <= 0 || splits.size == 0) this
    else {
      val atEnd =
        if (!splits.hasLastActive(untilMillis)) AllBut(Set.empty)
        else splits.withLastActive(untilMillis - millis, MostNamed).fold[AtEnd](Unknown)(Only(_))
      val all = spans :+ Span(untilMillis, millis, atEnd)
      val gone = all.dropRight(MostSpans)
      Uncounted(all.takeRight(MostSpans), gone.lastOption.map(_.untilMillis).orElse(forgottenMillis))
    }

  /** For these splits (in order) alone, with new numbers. */
  def keeping(kept: Array[Int]): Uncounted = {
    def numbered(splits: Set[Int]) = splits.map(Arrays.binarySearch(kept, _)).filter(_ >= 0)
    copy(spans = spans.map { span =>
      span.copy(atEnd = span.atEnd match {
        case AllBut(splits) => AllBut(numbered(splits))
        case Only(splits) => Only(numbered(splits))
        case Unknown => Unknown
      })
    })
  }

  /** With these splits active at the end of a batch, which may be that of the last time, too. */
  def observed(splits: Splits, times: MaxEventTimes, endMillis: Long): Uncounted =
    spans.lastOption.filter(_.untilMillis == endMillis && !times.isEmpty).fold(this) { last =>
      val active = if (times.size > MostNamed) None else Some(splits.numbersOf(times))
      val atEnd = last.atEnd match {
        case AllBut(some) => active.map(some ++ _).filter(_.size <= MostNamed).fold[AtEnd](Unknown)(AllBut(_))
        case Only(some) => active.fold[AtEnd](Unknown)(those => Only(some -- those))
        case Unknown => Unknown
      }
      copy(spans = spans.init :+ last.copy(atEnd = atEnd))
    }
}

object Uncounted {
  val none: Uncounted = Uncounted(Vector.empty, None)

  private val MostSpans = 16
  private val MostNamed = 1000

  /** @param untilMillis when it ended; @param millis how long it took */
  final case class Span(untilMillis: Long, millis: Long, atEnd: AtEnd)

  /** Which of the splits whose time is the end of a span were moved there. The others had rows then. */
  sealed trait AtEnd {
    private[memory] def isMoved(split: Int): Option[Boolean] = this match {
      case AllBut(splits) => Some(!splits(split))
      case Only(splits) => Some(splits(split))
      case Unknown => None
    }
  }
  final case class AllBut(splits: Set[Int]) extends AtEnd
  final case class Only(splits: Set[Int]) extends AtEnd

  /** There were too many to name them. */
  case object Unknown extends AtEnd
}
