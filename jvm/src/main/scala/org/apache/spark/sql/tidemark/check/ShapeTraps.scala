package org.apache.spark.sql.tidemark.check

import java.util.Locale

import io.tidemark.TidemarkError
import io.tidemark.core.{OriginName, Side}
import io.tidemark.core.memory.WhenIdle
import io.tidemark.core.plan.{PlanShape, Waits}
import io.tidemark.core.why.{InputTrap, OperatorTrap, PlanInput, Trap}

import org.apache.spark.sql.catalyst.plans.{FullOuter, LeftOuter, RightOuter}
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.planning.PlanShapeBuilder

/** What the operators show by whom they wait for. */
private[check] final class ShapeTraps(
    plan: PlanShapeBuilder.Translated,
    origins: OriginsOfPlan,
    isAppend: Boolean,
    runsNoDataBatches: Boolean,
    countsSilence: Boolean,
    isRefused: Boolean = false) {
  import ShapeTraps._

  private val operators = Waits.inputs(plan.shape)
  private val waits = Waits.of(plan.shape)

  def all: Seq[Trap] =
    neverEvicts ++ noDataBatchesOff ++ unused ++ noIdleTime ++ joinWaitsForIdle ++ outerRowsWait ++ lastWindowStays

  private def neverEvicts: Seq[Trap] = for {
    (join: PlanShape.Join, input) <- operators
    // The engine has a hint on the others.
    hasHint = join.side(input.side).active.nonEmpty && join.side(input.side).comesOut
    if join.side(input.side).bound.isEmpty && !hasHint
  } yield OperatorTrap.NeverEvicts(PlanInput.nameOf(join, input), input.side.name)

  private def noDataBatchesOff: Seq[Trap] = for {
    (operator, input) <- operators.distinctBy(_._2.operator) if !runsNoDataBatches
    if waits.get(input).exists(_.all.nonEmpty) && !emitsAtOnce(operator)
  } yield OperatorTrap.NoDataBatchesOff(PlanInput.nameOf(operator, input))

  private def emitsAtOnce(operator: PlanShape): Boolean = operator match {
    case stateful: PlanShape.Stateful => stateful.emitsAtOnce
    case join: PlanShape.Join => join.emitsAtOnce
    case _ => true
  }

  private def outerRowsWait: Seq[Trap] = for {
    (join: PlanShape.Join, input) <- operators if keepsUnmatched(join, input.side)
    found <- waits.get(input).toSeq
    evicted <- found.evicted.toSeq if evicted.exists(origin => found.evenIdle.contains(origin) || !mayBeIdle(origin))
  } yield OperatorTrap.OuterRowsWait(
    PlanInput.nameOf(join, input),
    input.side.name,
    evicted.map(_.toString),
    evicted.forall(mayBeIdle),
    countsSilence)

  private def mayBeIdle(origin: OriginName): Boolean = origins.rules.get(origin).exists(_.idleAfterMillis.nonEmpty)

  private def keepsUnmatched(join: PlanShape.Join, side: Side): Boolean =
    (FullOuter +: (if (side == Side.Left) Seq(LeftOuter) else Seq(RightOuter)))
      .exists(kind => join.label.contains(kind.sql.toLowerCase(Locale.ROOT)))

  /** In append mode, where results come out by the watermark alone. */
  private def lastWindowStays: Seq[Trap] = for {
    (stateful: PlanShape.Stateful, input) <- operators if isAppend && !stateful.emitsAtOnce && Windowed(stateful.label)
    evicted <- waits.get(input).flatMap(_.evicted).toSeq
    // Later marks of writers need no rows.
    if origins.all.exists { origin =>
      evicted.contains(origin.name) && origin.rules.whenIdle != WhenIdle.Advance && origin.rules.noted.isEmpty
    }
  } yield OperatorTrap.LastWindowStays(PlanInput.nameOf(stateful, input), countsSilence)

  /** A watermark that no operator uses. Expressions and marks may still use it. */
  private def unused: Seq[Trap] =
    // A hint says it of complete mode. Of what Spark refuses, the plan need not have each operator.
    if (isRefused || plan.targets.nonEmpty || plan.outputs.nonEmpty || plan.hints.exists(_.code == CompleteMode)) Nil
    else {
      val used = waits.values.flatMap(waiting => waiting.all ++ waiting.evenIdle).toSet
      origins.names.filterNot(used).map(origin => InputTrap.WatermarkUnused(origin.toString))
    }

  private def noIdleTime: Seq[Trap] = for {
    origin <- origins.all if origin.rules.idleAfterMillis.isEmpty
    part =
      if (origin.rules.noted.nonEmpty) Some("writer") else Option.when(origin.rules.splitBy.nonEmpty)("split")
    waiting = operators.filter { case (_, input) =>
      waits.get(input).exists(at => at.all.contains(origin.name) && (at.all.size > 1 || part.nonEmpty))
    }
    if waiting.nonEmpty
    // Where results are emitted as rows arrive, only state waits.
    results = waiting.filterNot { case (at, _) => emitsAtOnce(at) }
    named = if (results.isEmpty) waiting else results
    names = named.map { case (at, input) => PlanInput.nameOf(at, input) }
    atJoin = named.exists { case (_, input) => waits.get(input).exists(_.evenIdle.contains(origin.name)) }
  } yield Trap.NoIdleTime(origin.name.toString, names.distinct, part, results.isEmpty, atJoin, countsSilence)

  private def joinWaitsForIdle: Seq[Trap] = for {
    origin <- origins.all
    after <- origin.rules.idleAfterMillis.toSeq
    (join: PlanShape.Join, input) <- operators.filter { case (at, input) =>
      at.isInstanceOf[PlanShape.Join] &&
      waits.get(input).exists(found => found.evenIdle.contains(origin.name) && found.all.size > 1)
    }.take(1)
  } yield OperatorTrap.JoinWaitsForIdle(origin.name.toString, PlanInput.nameOf(join, input), after)
}

private[check] object ShapeTraps {
  private val CompleteMode = TidemarkError.CompleteMode("").code
  private val Windowed = Set("aggregation", "session aggregation")
}
