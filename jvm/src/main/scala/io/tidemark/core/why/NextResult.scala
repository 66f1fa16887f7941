package io.tidemark.core.why

import io.tidemark.core.OriginName

/** What an operator emits next, and what lets it out. Times are ms since the epoch.
  *
  * @param what the window or the rows that wait
  * @param origin the input whose event time it is, if the operator has several
  * @param eventTimeMillis the event time of that input that lets it out
  * @param lastEventTimeMillis the one that lets out all of what waits, if that is known
  * @param movedBy what moves the watermark of the input
  * @param isUnlessHeld whether another input is behind as well
  * @param needsRows whether that takes a batch with rows
  */
final case class NextResult(
    what: NextResult.What,
    origin: Option[OriginName],
    eventTimeMillis: Long,
    lastEventTimeMillis: Option[Long],
    movedBy: NextResult.MovedBy,
    isUnlessHeld: Boolean,
    needsRows: Boolean = false) {
  import NextResult._

  def sentence(operator: Verdict.Operator, words: Words): String = {
    val of = origin.fold("")(name => s" of ${words.name(name.toString)}")
    val others = if (isUnlessHeld) ", if no other input is behind then" else ""
    val (reaches, alsoReaches) = movedBy match {
      case MovedBy.Writers => (s"${if (of.isEmpty) "its" else "the"} writers$of have noted", "they have noted")
      case MovedBy.Splits => (s"every split$of that is not idle has reached", "each has reached")
      case MovedBy.EventTimes => (s"an event time$of reaches", "one reaches")
    }
    val rows = if (needsRows) " with the next rows" else ""
    val emitted =
      s"is ${if (operator.emitsAtOnce) "evicted" else "emitted"}$rows once $reaches ${words.at(eventTimeMillis)}$others"
    what match {
      case Window(end, true) => s"The first window in its state ends at ${words.at(end)}, and $emitted."
      case Window(end, false) => s"The next window ends at ${words.at(end)}. If it has rows, it $emitted."
      case Rows(count) =>
        val last = lastEventTimeMillis.fold("")(at => s", and the last once $alsoReaches ${words.at(at)}")
        s"It holds ${Words.counted(count, "row")}: the first $emitted$last."
    }
  }
}

object NextResult {

  /** What moves the watermark of an input: its rows, those of the split that is furthest behind, or marks. */
  sealed trait MovedBy
  object MovedBy {
    case object EventTimes extends MovedBy
    case object Splits extends MovedBy
    case object Writers extends MovedBy
  }

  sealed trait What

  /** @param isInState whether it is known that it has rows */
  final case class Window(endMillis: Long, isInState: Boolean) extends What

  /** Rows that wait to come out in order. */
  final case class Rows(count: Long) extends What
}
