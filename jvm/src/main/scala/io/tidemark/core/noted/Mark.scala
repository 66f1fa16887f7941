package io.tidemark.core.noted

/** What one writer states at one moment: none of its rows behind a position has an event time up to a time.
  *
  * @param epoch the writer's life; a later life has a larger number
  * @param number the mark's number in its life
  * @param timeMillis the noted time, ms since the epoch; `None` if the mark notes none
  * @param writtenMillis when it was written, ms since the epoch; never compared with event times. In the text it is by the
  *   writer's clock. Readers of a log correct it by the clock of the store, which all writers share
  * @param after the last mark of earlier lives that counts, in the first mark of a later life
  * @param isDated whether that is by the store's clock. Clocks of hosts are not compared with each other
  * @param mostMillis the largest event time of any row before the position, if the writer knows it
  */
final case class Mark(
    writer: String,
    epoch: Long,
    number: Long,
    kind: Mark.Kind,
    timeMillis: Option[Long],
    writtenMillis: Long,
    position: Option[Position] = None,
    after: Option[MarkId] = None,
    mostMillis: Option[Long] = None,
    isDated: Boolean = true) {

  def place: MarkId = MarkId(epoch, number)

  /** Files that were finished since the mark before, if the writer's marks list files. */
  def files: Option[Set[String]] = position.collect { case Position.Files(names) => names }

  /** Whether the writer is left out once this mark is passed, until it says more. */
  def isResting: Boolean = kind == Mark.Idle || kind == Mark.End

  /** Whether no mark is missing between this one and the one at `before`. */
  def follows(before: MarkId): Boolean =
    if (epoch == before.epoch) number - 1 == before.number else after.contains(before)

  /** This mark for a reader that believes no time after `latestMillis`: the writer is alive, no more is said. */
  def believed(latestMillis: Long): Mark =
    if (timeMillis.forall(_ <= latestMillis)) this
    else copy(kind = if (kind == Mark.Note) Mark.Alive else kind, timeMillis = None)
}

object Mark {

  /** @param name the kind in a line of the log */
  sealed abstract class Kind(val name: String)

  /** The writer notes a time. */
  case object Note extends Kind("note")

  /** The writer is running, and may still send rows. */
  case object Alive extends Kind("alive")

  /** Readers may leave the writer out until its next mark. */
  case object Idle extends Kind("idle")

  /** No rows follow. A later life of the writer may. */
  case object End extends Kind("end")

  val kinds: Seq[Kind] = Seq(Note, Alive, Idle, End)
}

/** The place of a mark among those of its writer. */
final case class MarkId(epoch: Long, number: Long) extends Ordered[MarkId] {
  override def compare(that: MarkId): Int =
    if (epoch == that.epoch) number.compare(that.number) else epoch.compare(that.epoch)
}
