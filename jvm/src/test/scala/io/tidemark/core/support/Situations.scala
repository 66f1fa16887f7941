package io.tidemark.core.support

import java.time.ZoneOffset

import io.tidemark.core.{OperatorId, Watermark}
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.support.Plans._
import io.tidemark.core.why.{Diagnosis, Situation, Words}
import io.tidemark.core.why.Situation.LeftOut

/** Situations of queries in which something may wait. */
trait Situations extends JoinPlans {
  protected val words = new Words(ZoneOffset.UTC)
  protected val now = time("20:00")

  protected val counted = aggregation(0, origin("payments", 1), 1)
  protected val both =
    aggregation(1, union(origin("orders", 1) -> Some(1L), origin("payments", 2) -> Some(2L)), 1)

  protected def input(key: String, watermark: Watermark, delay: Long = minutes(10)): Situation.Origin =
    Situation.Origin(named(key), watermark, delay, watermark.millis.map(_ + delay))

  protected def silent(key: String, reached: String, lastActive: String): Situation.Origin =
    input(key, Watermark.Idle(Some(time(reached))))
      .copy(lastActiveMillis = Some(time(lastActive)), idleAfterMillis = Some(minutes(10)))

  protected def lagging(clock: Option[Long], leftOut: Option[LeftOut] = None) =
    Situation.Split("pl-7", clock, clock.map(_ => time("12:22")), leftOut)

  protected def situation(shape: PlanShape, inputs: Situation.Origin*): Situation = {
    val origins = inputs.map(origin => origin.name -> origin).toMap
    val decision = decided(inputs.map(origin => origin.name.key -> origin.watermark): _*)
    Situation(
      shape,
      decision,
      origins,
      Map.empty,
      Map.empty,
      Map.empty,
      Set.empty,
      now,
      emitsAll = false,
      runsNoDataBatches = true,
      countsSilence = true)
  }

  protected def due(operator: Long, at: String, isInState: Boolean = true): Map[OperatorId, Situation.Due] =
    Map(OperatorId(operator) -> Situation.Due(time(at), isInState))
  protected def sentence(of: Situation): String = Diagnosis.of(of).sentence(words)
}
