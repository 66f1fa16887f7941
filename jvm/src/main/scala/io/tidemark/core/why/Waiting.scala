package io.tidemark.core.why

import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.plan.{AttributedWatermark, Decision, OperatorWatermarks, PlanShape, Propagation}
import io.tidemark.core.why.Situation.Origin

/** An operator that results wait in, with the watermark by which it emits them. */
private[why] final class Waiting(of: Situation, val shape: PlanShape) {
  import Waiting._

  private val least = leastOf(of.watermarks)

  private def leastOf(all: OperatorWatermarks): Option[AttributedWatermark] =
    PlanShape.inputsOf(shape).flatMap(all.inputs.get).flatMap(in => in.evicted.orElse(Some(in.input)))
      .reduceOption(_ earlier _)

  val operator: Verdict.Operator = of.operator(shape)

  /** The inputs of the query that its rows come from. */
  val origins: Seq[Origin] = of.below(shape)

  /** The inputs besides one, and not those that its own rows come from: where an operator's results have a watermark of their own,
    * they are always behind what it reads.
    */
  def besides(origin: Origin): Seq[Origin] = {
    val below = PlanShape.postOrder(shape).collect {
      case made: PlanShape.Origin if made.name == origin.name => of.below(made)
    }.flatten
    origins.diff(below)
  }

  /** The operator itself, if it is a join, and those that its rows come from. */
  def joins: Seq[PlanShape.Join] = PlanShape.postOrder(shape).collect { case join: PlanShape.Join => join }

  def reached: Watermark = least.fold[Watermark](Watermark.Unknown)(_.watermark)
  def holder: Option[Origin] = least.flatMap(_.by).flatMap(of.origins.get)

  /** Up to where it has emitted with these watermarks. */
  def emittedBy(used: OperatorWatermarks): Watermark = leastOf(used).fold[Watermark](Watermark.Unknown)(_.watermark)

  val held: Option[Situation.Held] = PlanShape.inputsOf(shape).flatMap(in => of.held.get(in.operator)).headOption

  /** Whether results may wait in front of the operator. */
  private val isFed = PlanShape.postOrder(shape).exists {
    case stateful: PlanShape.Stateful => stateful != shape && !stateful.emitsAtOnce
    case join: PlanShape.Join => join != shape && !join.emitsAtOnce
    case _ => false
  }

  private val window = PlanShape.inputsOf(shape).flatMap(in => of.due.get(in.operator)).headOption.map { due =>
    // What waits in front may be of an earlier window.
    due.nextMillis.filter(next => isFed && next < due.millis).fold(due)(Situation.Due(_, isInState = false))
  }

  /** The watermark that lets something come out, as far as that is known. */
  val dueMillis: Option[Long] = held.map(_.firstMillis).orElse(window.map(_.millis))

  /** Whether results are known to wait: not if no window has rows, and nothing waits in front of it either. */
  def holdsSome: Boolean = held.nonEmpty || window.forall(_.isInState) || isFed

  /** Whether it would emit something if an input that is behind were as far as another.
    * @param reachedMillis the watermark of the input; @param aheadMillis that of the other
    */
  def isHeldBy(origin: Origin, reachedMillis: Long, aheadMillis: Long): Boolean = holdsSome && {
    (dueMillis, reached.millis) match {
      case (Some(due), Some(now)) => now < due && reaches(due, othersFar(origin.name, aheadMillis), settles = true)
      case _ => aheadMillis - reachedMillis > origin.delayMillis
    }
  }

  /** What it emits next, and what lets it out; `None` if that is not known, or due already. */
  lazy val next: Option[NextResult] = for {
    due <- dueMillis if reached.millis.exists(_ < due)
    origin <- holder
    at <- needed(origin.name, due)
  } yield NextResult(
    held.fold[NextResult.What](NextResult.Window(due, window.exists(_.isInState)))(rows => NextResult.Rows(rows.rows)),
    Option.when(origins.size > 1)(origin.name),
    at + origin.delayMillis,
    held.filter(_.rows > 1).flatMap(rows => needed(origin.name, rows.lastMillis)).map(_ + origin.delayMillis),
    movedBy(origin),
    origins.size > 1 && !reaches(due, of.decision.origins.updated(origin.name, Watermark.At(at)), settles = false),
    !of.runsNoDataBatches)

  private def movedBy(origin: Origin): NextResult.MovedBy =
    if (origin.isNoted) NextResult.MovedBy.Writers
    else if (origin.isSplit) NextResult.MovedBy.Splits
    else NextResult.MovedBy.EventTimes

  /** The watermark of an input by which the operator reaches a time if no other input is behind; `None` if there is none.
    *
    * Between the two lie ranges of joins and other operators, so it is found by asking [[Propagation]].
    */
  private def needed(origin: OriginName, millis: Long): Option[Long] = {
    def isEnough(watermark: Long) = reaches(millis, othersFar(origin, watermark), settles = false)
    @annotation.tailrec
    def search(tooLittle: Long, enough: Long): Long =
      if (enough - tooLittle <= 1) enough
      else {
        val middle = tooLittle + (enough - tooLittle) / 2
        if (isEnough(middle)) search(tooLittle, middle) else search(middle, enough)
      }
    Option.when(isEnough(millis + Range))(search(millis - Range, millis + Range))
  }

  private def othersFar(origin: OriginName, millis: Long): Map[OriginName, Watermark] =
    origins.map(_.name -> Watermark.At(Far)).toMap.updated(origin, Watermark.At(millis))

  /** Whether the operator reaches a time with these watermarks.
    * @param settles whether the columns that operators carry follow them. They do, a batch for each operator, once nothing older
    *   is in state
    */
  private def reaches(millis: Long, watermarks: Map[OriginName, Watermark], settles: Boolean): Boolean = {
    val decision = Decision(watermarks, of.decision.floors)
    val now = if (settles) Propagation.settled(of.shape, decision) else Propagation.levels(of.shape, decision)
    emittedBy(now).millis.exists(_ >= millis)
  }
}

private[why] object Waiting {
  // Further than any time of a clock, and than any range of a join.
  private val Far = 100000000000000L
  private val Range = 10000000000000L
}
