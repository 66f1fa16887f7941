package org.apache.spark.sql.tidemark.report

import io.tidemark.TidemarkError
import io.tidemark.core.OriginName
import io.tidemark.core.memory.{OriginState, WatermarkEntry}
import io.tidemark.core.plan.Decision
import io.tidemark.core.splits.{SplitNameTable, Splits}

import org.apache.spark.sql.tidemark.columns.PlanOrigin

/** What a report shows of an input: its watermark, its options, and its splits.
  * @param splits the splits by the latest decision
  */
private[report] final class InputReport(
    planOrigin: PlanOrigin,
    entry: WatermarkEntry,
    decision: Decision,
    splits: Splits,
    noted: NotedReport,
    countsSilence: Boolean) {
  import Json.obj

  private val state = entry.origins.getOrElse(planOrigin.name, OriginState.initial).copy(splits = splits)
  private val now = decision.origin(planOrigin.name)
  private val shown = new SplitsReport(planOrigin, state, now, entry.endMillis, noted, countsSilence)

  def name: OriginName = planOrigin.name

  /** The split that is furthest behind, if the watermark waits for one of several. */
  def heldBack: Option[String] =
    if (planOrigin.rules.splitBy.isEmpty) None
    else shown.behind.waitedFor.headOption.map(split => SplitNameTable.show(splits.name(split)))

  private def shown(millis: Option[Long]): AnyRef = millis.filter(_ => state.hasTimes).map(Long.box).orNull

  def hints: Seq[TidemarkError] = noted.hints(shown.behind.waitedFor.flatMap(shown.behind.writer))

  def json: AnyRef = obj(Seq(
    "key" -> planOrigin.name.toString,
    "column" -> planOrigin.column,
    "delay_ms" -> planOrigin.rules.delayMillis,
    "watermark_ms" -> shown(now.millis),
    "late_watermark_ms" -> shown(entry.decision.origin(planOrigin.name).millis),
    "max_event_time_ms" -> shown(state.maxEventTimeMillis)) ++ shown.fields: _*)
}
