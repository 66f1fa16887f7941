package io.tidemark.core.support

import io.tidemark.core.OriginName
import io.tidemark.core.memory.{BatchStart, Observation, OriginRules, WatermarkEntry}
import io.tidemark.core.plan.{OperatorWatermarks, PlanShape, Propagation}

/** A query between two batches, run as the engine runs it: `entry` is all that it remembers. */
private[core] final case class Moment(
    shape: PlanShape,
    entry: WatermarkEntry,
    rules: Map[OriginName, OriginRules] = Map.empty) {

  /** What the next batch judges late rows by. */
  lazy val late: OperatorWatermarks = Propagation.levels(shape, entry.decision)

  /** What the next batch closes windows and evicts state by. */
  lazy val now: OperatorWatermarks = Propagation.levels(shape, decision)

  private def start = BatchStart.at(1000 * (entry.batch + 1))
  private def decision = entry.decide(start, rules)

  /** After the next batch, which saw this. */
  def next(seen: Observation): Moment = {
    val ended = Observation.BatchEnd(entry.batch + 1, start, start.millis)
    copy(entry = Observation.observe(entry, ended, decision, now, seen, rules))
  }

  /** As it would be after a crash: all that is left is what was written. */
  def restarted: Moment = copy(entry = WholeEntry.decode(WholeEntry.encode(entry)))
}

private[core] object Moment {
  def first(shape: PlanShape): Moment = Moment(shape, WatermarkEntry.initial(Plans.names(shape), -1L, 0L, 0L))
}
