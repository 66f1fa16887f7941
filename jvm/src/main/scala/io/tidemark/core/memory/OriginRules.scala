package io.tidemark.core.memory

import io.tidemark.core.OriginName
import io.tidemark.core.splits.OnReturn

/** How the watermark of an origin follows from the clocks of its splits. Lengths of time are in ms.
  *
  * @param delayMillis how far a clock is behind the largest event time
  * @param splitBy the expressions that the input is split by, as the user wrote them; empty if it is not split
  * @param expected splits that hold the watermark before their first row
  * @param idleAfterMillis how long a split may be without rows before it is idle; `None` if it is never idle
  * @param whenIdle what happens when the whole origin has no rows
  * @param maxAheadMillis how far an event time may be ahead of the batch's processing time and still advance a clock;
  *   `None` if there is no limit
  * @param noted the mark log that the clocks come from, if writers note them; the splits are the writers then
  * @param sources what the origin reads, if its key alone may not find it again
  * @param forgetAfterMillis how long a split may be without rows before it is forgotten; `None` if it is never. It is no
  *   shorter than `idleAfterMillis`
  * @param followsInJoins whether a join side takes the other side's watermark while all its origins are idle
  */
final case class OriginRules(
    delayMillis: Long,
    splitBy: Seq[String] = Nil,
    expected: Seq[Array[Byte]] = Nil,
    idleAfterMillis: Option[Long] = None,
    onReturn: OnReturn = OnReturn.Hold,
    whenIdle: WhenIdle = WhenIdle.Hold,
    maxAheadMillis: Option[Long] = None,
    followsInJoins: Boolean = false,
    noted: Option[NotedBy] = None,
    sources: Option[OriginSources] = None,
    forgetAfterMillis: Option[Long] = None)

/** A mark log.
  * @param location where it is
  * @param onlyExpected whether marks of writers that are not expected are ignored
  * @param options how its place is reached, if that needs more than the location
  */
final case class NotedBy(location: String, onlyExpected: Boolean = false, options: Map[String, String] = Map.empty)

/** What happens to splits and watermark of an origin without rows. [[Silence]] has the rules. */
sealed trait WhenIdle

object WhenIdle {

  /** The clocks and the watermark stay. */
  case object Hold extends WhenIdle

  /** The splits become idle one after the other, and the watermark advances to the largest clock. */
  case object Rise extends WhenIdle

  /** As [[Rise]]. Then the watermark follows processing time less the delay, in steps of `idle_after`. */
  case object Advance extends WhenIdle
}

/** The time at which a batch is decided, and what is known then of rows that it is about to read.
  *
  * @param millis the batch's processing time in Spark's log, ms
  * @param unread where the batch itself has rows: these splits are not idle
  */
final case class BatchStart(millis: Long, unread: Map[OriginName, Unread])

object BatchStart {
  def at(millis: Long): BatchStart = BatchStart(millis, Map.empty)
}

/** Where an origin has rows that no batch has read yet. */
sealed trait Unread

object Unread {

  /** In some of its splits. It is not known in which ones. */
  case object Somewhere extends Unread

  /** In these splits (encoded names). */
  final case class In(splits: Seq[Array[Byte]]) extends Unread
}
