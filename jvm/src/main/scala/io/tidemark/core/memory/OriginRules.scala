package io.tidemark.core.memory

import io.tidemark.core.OriginName
import io.tidemark.core.splits.OnReturn

/** How the watermark of an origin is made from the clocks of its splits. Lengths of time are in ms.
  *
  * @param delayMillis how far a clock is behind the largest event time
  * @param splitBy the expressions that the input is split by, as the user wrote them; none: it is not split
  * @param expected splits that hold the watermark before their first row
  * @param idleAfterMillis how long a split may say nothing before it is left out; `None`: for ever
  * @param whenIdle what an origin does of which nothing is heard
  * @param maxAheadMillis how far an event time may be ahead of the batch's processing time and still move a clock;
  *   `None`: any
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
    followsInJoins: Boolean = false)

/** What the silence of all splits of an origin does to them and to its watermark; [[Silence]] has the rules. */
sealed trait WhenIdle

object WhenIdle {

  /** Nothing: clocks and watermark stand. */
  case object Hold extends WhenIdle

  /** The splits fall idle one after the other, and the watermark rises to the largest clock. */
  case object Rise extends WhenIdle

  /** As [[Rise]], and then it goes on with processing time less the delay, a step of `idle_after` at a time. */
  case object Advance extends WhenIdle
}

/** When a batch is decided, and what is known then of rows still to be read.
  *
  * @param millis the batch's processing time in Spark's log, ms
  * @param unread splits with rows in the batch itself: they are not silent, whatever their clock says
  */
final case class BatchStart(millis: Long, unread: Map[OriginName, Unread])

object BatchStart {
  def at(millis: Long): BatchStart = BatchStart(millis, Map.empty)
}

/** Where an origin has rows that no batch has taken in yet. */
sealed trait Unread

object Unread {

  /** In some of its splits; it is not known in which. */
  case object Somewhere extends Unread

  /** In these splits (encoded names). */
  final case class In(splits: Seq[Array[Byte]]) extends Unread
}
