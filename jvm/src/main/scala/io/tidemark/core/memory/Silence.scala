package io.tidemark.core.memory

import io.tidemark.core.splits.Splits

/** Which splits are idle, and whether the input is. With [[WhenIdle.Hold]], the default:
  *
  *   1. A split's last active time is the end of the last batch that had rows of it. A split without rows yet, which is
  *      expected or named by the source, has the time at which it became known.
  *   1. An input's last active time is the largest one of its splits that have a clock. The entry needs no field for it.
  *   1. A split is idle if the input's last active time is at least `idle_after` later than its own. So the silence of a
  *      split counts while others have rows, and splits become idle one after the other. This rule never makes the split
  *      idle that had rows last, and so never the only split.
  *   1. Silence counts as far as it is known. The splits of the rows that a batch is about to read may be unknown. Then
  *      silence counts up to the start of the batch before. A split with rows in the batch, as the source says, is not
  *      idle in it. These rows make no other split idle before the batch has run.
  *   1. An input is idle as a whole if for `idle_after` of wall-clock time none of its splits had rows or became known.
  *      For an input without splits, this time begins at the end of the query's first batch. The splits of an idle input
  *      keep their states, and its watermark stays, until it has rows again.
  *   1. A pause is a time of at least `idle_after` without rows of the input. It does not count as silence of its splits,
  *      and neither does a time in which the query does not run. When the input has rows again, every split's last active
  *      time becomes later by the pause. So no split comes closer to being idle in a pause.
  *   1. A trigger finds a pause if the input has no rows to read, `idle_after` or more after its last active time.
  *      Triggers that are further apart than `idle_after`, and always find rows, find no pause. The triggers of an earlier
  *      run are not known. So the time before a run's first batch is a pause if it is long enough. This may make a split
  *      idle one batch later, and never earlier.
  *
  * With the other rules the silence of a split counts up to the present, whether or not others have rows. Splits become
  * idle one after the other, and an input is idle when all its splits are.
  *
  * @param splitsSinceMillis a split is idle if its last active time is this or earlier
  * @param wholeSinceMillis an input is idle if it had no rows after this time
  * @param untilMillis the time up to which silence is known
  */
private[core] final case class Silence(splitsSinceMillis: Long, wholeSinceMillis: Long, untilMillis: Long)

private[core] object Silence {

  /** @param untilMillis the time up to which silence is known; @param afterMillis `idle_after` */
  def of(splits: Splits, untilMillis: Long, afterMillis: Long, whenIdle: WhenIdle): Silence = {
    val since = untilMillis - afterMillis
    val ofSplits = whenIdle match {
      case WhenIdle.Hold =>
        splits.lastRows.fold(Long.MinValue)(lastActive => math.min(lastActive - afterMillis, since))
      case _ => since
    }
    Silence(ofSplits, since, untilMillis)
  }

  /** How long the input had no rows before the end of a batch that has rows of it, if that was a pause.
    * @param foundMillis the time up to which triggers have found that there were no rows
    * @param sinceMillis the earliest time at which the pause can begin
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
      lastActive <- splits.lastActiveOfAll
      last = math.max(lastActive, sinceMillis) if found - last >= after
    } yield endMillis - last
}
