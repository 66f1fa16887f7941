package org.apache.spark.sql.tidemark.batch

import io.tidemark.core.OriginName
import io.tidemark.core.memory.{BatchStart, Observation, OriginRules, WatermarkEntry, WhenIdle}
import io.tidemark.core.plan.{Decision, PlanShape, Propagation}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.tidemark.planning.WallClockSteps

/** Decides whether the wall clock alone is worth a no-data batch.
  *
  * With `when_all="advance"` the watermark of an idle origin follows the wall clock, so each trigger could ask for a batch.
  * Where such a batch would be of no use, the question is answered as if these origins did not follow the clock. What they
  * have already reached stays. Called on the query's own thread.
  */
private[tidemark] final class TimeOnlyBatches(rules: Map[OriginName, OriginRules]) {

  private val followsClock = rules.values.exists(_.whenIdle == WhenIdle.Advance)

  private val withoutClock = rules.map { case (name, rule) =>
    name -> (if (rule.whenIdle == WhenIdle.Advance) rule.copy(whenIdle = WhenIdle.Rise) else rule)
  }

  private var lastBatchMillis = 0L

  // The plan and the decision for which a batch was last found to close nothing.
  private var useless = Option.empty[(SparkPlan, Decision)]

  /** Called when a batch has ended, with how long it took (ms). */
  def batchTook(millis: Long): Unit = lastBatchMillis = millis

  /** The rules by which a no-data batch is decided.
    *
    * @param plan the plan of the last batch
    * @param shape the shape of that plan; it is only built when it is needed
    */
  def rulesFor(entry: WatermarkEntry, plan: SparkPlan, start: BatchStart)(
      shape: => PlanShape): Map[OriginName, OriginRules] =
    if (!followsClock) rules
    else {
      val withClock = entry.decide(start, rules)
      val standing = entry.decide(start, withoutClock)
      if (withClock == standing) rules
      else if (WallClockSteps.isTooSoon(entry.nowOf(start), entry.endMillis, lastBatchMillis)) withoutClock
      else if (useless.exists { case (of, decision) => (of eq plan) && decision == withClock }) withoutClock
      else if (mayClose(plan, shape, entry, start, standing)) rules
      else {
        useless = Some((plan, withClock))
        withoutClock
      }
    }

  private def mayClose(
      plan: SparkPlan,
      shape: PlanShape,
      entry: WatermarkEntry,
      start: BatchStart,
      standing: Decision): Boolean =
    WallClockSteps.mayClose(
      plan,
      Propagation.levels(shape, standing),
      Observation.settled(shape, entry, start, rules))
}
