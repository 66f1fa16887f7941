package org.apache.spark.sql.tidemark.status

import scala.collection.mutable

import io.tidemark.core.Watermark
import io.tidemark.core.memory.WhenIdle
import io.tidemark.core.splits.{Splits, SplitState}
import io.tidemark.core.why.Situation.LeftOut

import org.apache.spark.sql.tidemark.columns.PlanOrigin

/** The few splits of an input that matter to its watermark. Each answer scans all splits once. */
private[tidemark] final class SplitsBehind(origin: PlanOrigin, splits: Splits, now: Watermark) {
  import SplitsBehind._

  /** Those that are furthest behind, active ones before those that catch up. */
  def waitedFor: Seq[Int] = furthest.take(Named)

  /** More of them, for a drawing. */
  lazy val furthest: Seq[Int] = {
    def clock(split: Int) = splits.clock(split).getOrElse(Long.MinValue)
    val active = least(Drawn, are(SplitState.Active), clock)
    if (active.size == Drawn) active
    else (active ++ least(Drawn, are(SplitState.CatchingUp), clock)).take(Drawn)
  }

  /** Those that became idle last, of those that count. */
  def latestIdle(counts: Int => Boolean): Seq[Int] =
    least(Named, are(SplitState.Idle).filter(counts), split => -splits.lastActive(split))

  def are(state: SplitState): Iterator[Int] = Iterator.range(0, splits.size).filter(splits.state(_) == state)

  /** When a split becomes idle if it stays silent (ms). While everything is silent, no split gets closer to that. */
  def idleAtMillis(split: Int): Option[Long] = leftOut(split).filterNot(_ => now.isIdle).map(_.fromMillis)

  /** With the default rule, the silence of a split counts while others have rows. */
  def leftOut(split: Int): Option[LeftOut] = origin.rules.idleAfterMillis.map { after =>
    LeftOut(splits.lastActive(split) + after, whileOthers = origin.rules.whenIdle == WhenIdle.Hold)
  }

  /** The same for the input as a whole: its silence counts by the wall clock. `None` if it is not known to have begun. */
  def wholeLeftOut(sinceMillis: Option[Long]): Option[LeftOut] =
    for (after <- origin.rules.idleAfterMillis; since <- splits.lastObserved.orElse(sinceMillis))
      yield LeftOut(since + after, whileOthers = false)

  /** The writer that a split is, if the input's clocks are marks. */
  def writer(split: Int): Option[String] = if (origin.rules.noted.isEmpty) None else splits.name(split).head
}

private[tidemark] object SplitsBehind {
  private val Named = 5
  private val Drawn = 50

  /** The few splits with the lowest rank, in order. */
  private def least(few: Int, splits: Iterator[Int], rank: Int => Long): Seq[Int] = {
    val found = mutable.PriorityQueue.empty[(Long, Int)]
    splits.foreach { split =>
      val ranked = (rank(split), split)
      if (found.size < few) found.enqueue(ranked)
      else if (ranked._1 < found.head._1) {
        found.dequeue()
        found.enqueue(ranked)
      }
    }
    found.toSeq.sorted.map(_._2)
  }
}
