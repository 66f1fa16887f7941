package io.tidemark.core

/** Who is left out of a watermark because nothing is heard of it. With [[WhenIdle.Hold]]:
  *
  *   1. A split was last heard at the end of the last batch that had rows of it. One that is only known, because it is
  *      expected or the source has named it, counts as heard when it became known.
  *   1. An input was last heard when any of its splits was that has a clock: to be known is to say nothing. It is the
  *      largest of the times in the entry, and needs no place of its own there.
  *   1. A split is idle when its input was heard `idle_after` or more after it was. So the silence of one counts while
  *      others speak, and several fall idle one after the other, each by its own time. Who spoke last is never idle by this,
  *      and so the only split is not either.
  *   1. Silence counts as far as is known. Of nobody knows which split are rows that are about to be read: then it counts
  *      up to the begin of the batch before. A split that the source says has rows in the batch is not idle in it; that
  *      it is about to speak makes nobody else idle before it has.
  *   1. An input is idle as a whole when nothing was heard of it, and no split became known, for `idle_after` by the wall
  *      clock. One that has no split yet counts from the end of the query's first batch. Its splits stay as they are, who is
  *      idle and who is not, and its watermark stands, until it is heard.
  *   1. When an input is heard again of which nothing was heard for `idle_after`, that pause was no silence of its splits,
  *      as the time is none in which a query is not running: each counts as heard so much later. So in a pause nobody
  *      gets nearer to being idle, and whichever split returns first, the others have the time that they had left.
  *   1. There was a pause if a trigger has found it: nothing of the input to read, so long after it was heard. Triggers
  *      that are further apart than `idle_after`, and find rows each time, are none. Of the triggers of a run before
  *      nobody knows; in a run's first batch there was a pause if the time since is long enough. That may make a split
  *      idle a batch later, and none sooner.
  *
  * With the other rules silence of a split counts up to now, whoever speaks; all fall idle one after the other, and an input
  * is idle when all its splits are.
  *
  * @param splitsSinceMillis a split is idle that was last heard then or before
  * @param wholeSinceMillis an input is idle of which nothing was heard after that
  * @param untilMillis up to when it is known who has said nothing
  */
private[core] final case class Silence(splitsSinceMillis: Long, wholeSinceMillis: Long, untilMillis: Long)

private[core] object Silence {

  /** @param untilMillis up to when it is known who has said nothing; @param afterMillis the idle time */
  def of(splits: Splits, untilMillis: Long, afterMillis: Long, whenIdle: WhenIdle): Silence = {
    val since = untilMillis - afterMillis
    val ofSplits = whenIdle match {
      case WhenIdle.Hold => splits.lastSpoken.fold(Long.MinValue)(spoken => math.min(spoken - afterMillis, since))
      case _ => since
    }
    Silence(ofSplits, since, untilMillis)
  }

  /** How long nothing was heard before the end of a batch that has heard the input, if that was a pause.
    * @param foundMillis up to when triggers have found that nothing was said
    * @param sinceMillis before it silence is what it seems, also where nobody listened
    */
  def pause(
      splits: Splits,
      foundMillis: Option[Long],
      rules: OriginRules,
      sinceMillis: Long,
      endMillis: Long): Option[Long] =
    for {
      after <- rules.idleAfterMillis if rules.whenIdle == WhenIdle.Hold
      found <- foundMillis
      heard <- splits.lastHeardOfAll
      last = math.max(heard, sinceMillis) if found - last >= after
    } yield endMillis - last
}
