package org.apache.spark.sql.tidemark.report

import io.tidemark.core.Watermark
import io.tidemark.core.memory.{OriginState, WhenIdle}
import io.tidemark.core.splits.{OnReturn, SplitNameTable, SplitState}

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.PlanOrigin
import org.apache.spark.sql.tidemark.status.SplitsBehind
import org.apache.spark.util.Utils

/** What a report shows of an origin's splits: totals, and the few that matter. It scans the splits once.
  * @param endMillis when the last batch ended
  * @param countsSilence whether the time of this run may make an input idle
  */
private[tidemark] final class SplitsReport(
    origin: PlanOrigin,
    state: OriginState,
    now: Watermark,
    endMillis: Long,
    noted: NotedReport,
    countsSilence: Boolean) {
  import Json.{list, obj}

  private val rules = origin.rules
  private val all = state.splits

  val behind: SplitsBehind = new SplitsBehind(origin, all, now)
  import behind.are

  /** Empty if the origin has no options beyond Spark's. */
  def fields: Seq[(String, Any)] =
    if (rules.splitBy.isEmpty && rules.idleAfterMillis.isEmpty && rules.maxAheadMillis.isEmpty) Nil
    else
      Seq(
        "split_by" -> list(rules.splitBy.map(Utils.redact(SQLConf.get.stringRedactionPattern, _))),
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
        "splits" -> splits) ++ rules.forgetAfterMillis.map("forget_after_ms" -> Long.box(_)) ++ noted.fields(state, now)

  private def splits: AnyRef = {
    val catchingUp = all.catchingUp
    obj(
      "total" -> all.size,
      "active" -> (all.active - catchingUp),
      "idle" -> all.idle,
      "catching_up" -> catchingUp,
      "without_rows" -> are(SplitState.Active).count(all.clock(_).isEmpty),
      "without_clock" -> Iterator.range(0, all.size).count(all.clock(_).isEmpty),
      "worst" -> list(behind.waitedFor.map { split =>
        val fields = Seq[(String, Any)](
          "name" -> SplitNameTable.show(all.name(split)),
          "clock_ms" -> all.clock(split).map(Long.box).orNull,
          "behind_ms" -> behindMillis(split),
          "state" -> stateName(split),
          "idle_at_ms" -> behind.idleAtMillis(split).filter(_ => countsSilence).map(Long.box).orNull) ++ silence(split)
        obj(fields ++ behind.writer(split).toSeq.flatMap { writer =>
          Seq(
            "holds_since_ms" -> noted.holdingSince(writer),
            "mark" -> noted.mark(writer, state),
            "next" -> noted.ahead(writer, state))
        }: _*)
      }),
      "furthest" -> list(behind.furthest.map { split =>
        obj(Seq(
          "name" -> SplitNameTable.show(all.name(split)),
          "behind_ms" -> behindMillis(split),
          "state" -> stateName(split)) ++ silence(split): _*)
      }),
      "idle_ones" -> list(behind.latestIdle(_ => true).map { split =>
        val fields = Seq[(String, Any)](
          "name" -> SplitNameTable.show(all.name(split)),
          "clock_ms" -> all.clock(split).map(Long.box).orNull) ++ silence(split)
        obj(fields ++ behind.writer(split).map(name => "has_ended" -> state.writers.get(name).exists(_.isEnded)): _*)
      }))
  }

  /** When a split really had its last rows, and how much of the time since then counts as silence. */
  private def silence(split: Int): Seq[(String, Any)] = {
    val last = state.lastRows(split)
    val silent = Seq(
      "last_active_ms" -> last.map(Long.box).orNull,
      "silent_ms" -> state.silentMillis(split, endMillis, rules),
      "silent_of_ms" -> last.map(at => Long.box(math.max(0L, state.silentUntil(endMillis, rules) - at))).orNull)
    silent ++ Option.when(expected(split))("is_expected" -> true)
  }

  private lazy val expectedNames = rules.expected.map(SplitNameTable.decode(_)).toSet

  private def expected(split: Int): Boolean = all.clock(split).isEmpty && expectedNames(all.name(split))

  private def behindMillis(split: Int): AnyRef =
    all.clock(split).flatMap(c => all.largest.map(l => Long.box(l - c))).orNull

  private def stateName(split: Int): String =
    if (all.state(split) == SplitState.CatchingUp) "catching_up"
    else if (all.clock(split).isEmpty) "without_rows"
    else "active"
}
