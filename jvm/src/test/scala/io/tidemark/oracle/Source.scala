package io.tidemark.oracle

import Source._

/** An origin: its splits, and the watermark that it has reached (ms). An origin that is not split has a single split.
  *
  * @param isSilent whether it is idle though its splits are not, and had no rows since
  * @param found when the query last looked and found no rows (ms)
  */
final case class Source(
    splits: Map[Int, Split] = Map.empty,
    reached: Option[Long] = None,
    isSilent: Boolean = false,
    found: Option[Long] = None) {

  /** When it last had rows. */
  private def lastRows: Option[Long] = splits.values.filter(_.clock.nonEmpty).map(_.lastActive).maxOption

  def lookedAt(until: Long): Source = copy(found = (found ++ Some(until)).maxOption)

  /** Left out: who has been silent for so long at a moment up to which it is known who had rows. One without any rows
    * leaves its splits as they are.
    */
  def idleAt(known: Long, rules: Query.Input, begun: Option[Long]): (Source, Mark) = rules.idleAfter match {
    case None => this -> Mark(reached)
    case Some(seconds) =>
      val silentSince = known - seconds * 1000L
      val since =
        if (rules.holds) lastRows.map(last => math.min(last, known) - seconds * 1000L) else Some(silentSince)
      val all =
        splits.view.mapValues(s => if (since.exists(s.lastActive <= _)) s.copy(state = Idle) else s).toMap
      val nothing = splits.values.forall(_.lastActive <= silentSince)
      val isIdle =
        if (all.isEmpty) begun.exists(_ <= silentSince)
        else all.values.forall(_.state == Idle) || rules.holds && (isSilent || nothing)
      val stands = copy(splits = all, isSilent = rules.holds && isIdle).risen
      val after =
        if (isIdle && rules.advances) stands.following(known - rules.delay * 1000L, seconds * 1000L) else stands
      after -> Mark(after.reached, isIdle)
  }

  /** The watermark goes on with the clock, a step at a time. */
  private def following(clock: Long, step: Long): Source = {
    val steps = Math.floorDiv(clock - reached.getOrElse(0L), step)
    if (steps > 0 || reached.isEmpty) copy(reached = Some(reached.getOrElse(0L) + steps * step)) else this
  }

  def shifted(later: Long => Long): Source =
    copy(splits = splits.view.mapValues(s => s.copy(lastActive = later(s.lastActive))).toMap)

  def withSplits(names: Set[Int], now: Long): Source =
    copy(splits = names.map(_ -> Split(None, now, Active)).toMap ++ splits)

  /** After a time without rows that was as long as an idle time or longer, all were active so much later. */
  def afterPause(now: Long, rules: Query.Input): Source = {
    val last = lastRows.orElse(splits.values.map(_.lastActive).maxOption)
    val missed =
      for (after <- rules.idleAfter; until <- found; from <- last if until - from >= after * 1000L) yield now - from
    missed.filter(_ => rules.holds).fold(this)(more => shifted(time => math.min(time + more, now)))
  }

  /** @param clocks of the splits that had rows (ms) */
  def observe(clocks: Map[Int, Long], now: Long, catchesUp: Boolean): Source = {
    val observed = clocks.map { case (name, clock) =>
      val before = splits.getOrElse(name, Split(None, now, Active))
      val newest = before.clock.fold(clock)(math.max(_, clock))
      val isBehind = catchesUp && before.state != Active && reached.exists(newest < _)
      name -> Split(Some(newest), now, if (isBehind) CatchingUp else Active)
    }
    copy(splits = splits ++ observed, isSilent = isSilent && observed.isEmpty).risen
  }

  private def risen: Source = {
    val holding = splits.values.filter(_.state == Active)
    val clock =
      if (splits.values.forall(_.state == Idle)) splits.values.flatMap(_.clock).maxOption
      else if (holding.exists(_.clock.isEmpty)) None
      else holding.flatMap(_.clock).minOption
    copy(reached = (reached ++ clock).maxOption)
  }
}

object Source {

  /** @param clock its largest time less the delay, and @param lastActive when it last had rows (ms) */
  final case class Split(clock: Option[Long], lastActive: Long, state: State)

  sealed trait State
  case object Active extends State
  case object Idle extends State
  case object CatchingUp extends State
}
