package org.apache.spark.sql.tidemark.report

import scala.collection.mutable

import io.tidemark.core.Watermark
import io.tidemark.core.memory.{OriginRules, OriginState, WhenIdle}
import io.tidemark.core.splits.{OnReturn, SplitNameTable, SplitState}

import org.apache.spark.sql.tidemark.columns.PlanOrigin

/** What a report shows of an origin's splits: totals, and the few that matter. It scans the splits once. */
private[tidemark] object SplitsReport {
  import Json.{list, obj}

  private val Shown = 5

  /** Empty if the origin has no options beyond Spark's. */
  def fields(one: PlanOrigin, state: OriginState, now: Watermark): Seq[(String, Any)] = {
    val rules = one.rules
    if (rules.splitBy.isEmpty && rules.idleAfterMillis.isEmpty && rules.maxAheadMillis.isEmpty) Nil
    else
      Seq(
        "split_by" -> list(rules.splitBy),
        "idle_after_ms" -> rules.idleAfterMillis.map(Long.box).orNull,
        "on_return" -> (if (rules.onReturn == OnReturn.CatchUp) "catch_up" else "hold"),
        "when_all" ->
          (rules.whenIdle match {
            case WhenIdle.Hold => "hold"
            case WhenIdle.Rise => "rise"
            case WhenIdle.Advance => "advance"
          }),
        "at_join" -> (if (rules.followsInJoins) "follow" else "hold"),
        "max_ahead_ms" -> rules.maxAheadMillis.map(Long.box).orNull,
        "idle" -> now.isIdle,
        "waiting" -> state.waiting,
        "far_ahead_rows" -> state.farAheadRows,
        "splits" -> splits(state, rules, now))
  }

  private def splits(state: OriginState, rules: OriginRules, now: Watermark): AnyRef = {
    val all = state.splits
    def clock(split: Int) = all.clock(split).getOrElse(Long.MinValue)
    def are(state: SplitState) = Iterator.range(0, all.size).filter(all.state(_) == state)
    // First the splits furthest behind, active ones before those that catch up; then the last that fell idle.
    val worst = (least(are(SplitState.Active), clock) ++ least(are(SplitState.CatchingUp), clock)).take(Shown)
    val idle = least(are(SplitState.Idle), split => -all.lastActive(split))
    obj(
      "total" -> all.size,
      "active" -> all.active,
      "idle" -> all.idle,
      "catching_up" -> are(SplitState.CatchingUp).size,
      "without_clock" -> Iterator.range(0, all.size).count(all.clock(_).isEmpty),
      "worst" -> list(worst.map { split =>
        obj(
          "name" -> SplitNameTable.show(all.name(split)),
          "clock_ms" -> all.clock(split).map(Long.box).orNull,
          "behind_ms" -> all.clock(split).flatMap(c => all.largest.map(l => Long.box(l - c))).orNull,
          "last_active_ms" -> all.lastActive(split),
          "state" -> (if (all.state(split) == SplitState.CatchingUp) "catching_up" else "active"),
          // While everything is silent, no split gets closer to being idle.
          "idle_at_ms" ->
            rules.idleAfterMillis.filterNot(_ => now.isIdle).map(after =>
              Long.box(all.lastActive(split) + after)).orNull)
      }),
      "idle_ones" -> list(idle.map { split =>
        obj(
          "name" -> SplitNameTable.show(all.name(split)),
          "clock_ms" -> all.clock(split).map(Long.box).orNull,
          "idle_since_ms" -> all.lastActive(split))
      }))
  }

  /** The few splits with the lowest rank, in order. */
  private def least(splits: Iterator[Int], rank: Int => Long): Seq[Int] = {
    val found = mutable.PriorityQueue.empty[(Long, Int)]
    splits.foreach { split =>
      val ranked = (rank(split), split)
      if (found.size < Shown) found.enqueue(ranked)
      else if (ranked._1 < found.head._1) {
        found.dequeue()
        found.enqueue(ranked)
      }
    }
    found.toSeq.sorted.map(_._2)
  }
}
