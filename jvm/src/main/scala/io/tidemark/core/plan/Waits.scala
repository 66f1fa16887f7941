package io.tidemark.core.plan

import io.tidemark.core.{Input, OriginName, Watermark}

/** Which origins an input of an operator waits for. It is found by asking [[Propagation]], so that it cannot differ from
  * what the engine does: what if this origin had no watermark, or were idle?
  *
  * @param late the origins whose watermark must be known before a row of this input can be late
  * @param evicted those that must be known before state leaves; `None` if state of this input never does
  * @param evenIdle those of `late` and `evicted` that hold this input back even while they are idle
  * @param afterMillis how far past a row's time the watermark of the one origin in `evicted` is when the row leaves the
  *   state; `None` if there are several
  */
final case class Waits(
    late: Seq[OriginName],
    evicted: Option[Seq[OriginName]],
    evenIdle: Seq[OriginName],
    afterMillis: Option[Long]) {
  def all: Seq[OriginName] = (late ++ evicted.toSeq.flatten).distinct
}

object Waits {
  // Apart by more than any time range of a join, and far from the epoch.
  private val Ahead = 100000000000000L
  private val Behind = 50000000000000L

  /** Those of every input of a plan's operators. */
  def of(shape: PlanShape): Map[Input, Waits] = {
    val origins = PlanShape.postOrder(shape).collect { case origin: PlanShape.Origin => origin.name }.distinct
    def probe(origin: OriginName, watermark: Watermark) =
      reached(shape, origins.map(name => name -> (if (name == origin) watermark else Watermark.At(Ahead))).toMap)
    val all = reached(shape, origins.map(_ -> Watermark.At(Ahead)).toMap)
    val unknown = origins.map(origin => origin -> probe(origin, Watermark.Unknown))
    val idle = origins.map(origin => origin -> probe(origin, Watermark.Idle(Some(Behind))))
    val operators = inputs(shape).map(_.swap).toMap
    all.map { case (input, known) =>
      def waitsFor(what: InputWatermarks => Option[Watermark]): Seq[OriginName] =
        if (what(known).forall(_.millis.isEmpty)) Nil
        else unknown.collect { case (origin, probed) if what(probed(input)).forall(_.millis.isEmpty) => origin }
      val late = if (operators.get(input).forall(PlanShape.dropsLate))
        waitsFor(watermarks => Some(watermarks.input.watermark))
      else Nil
      val left = operators.get(input).map(PlanShape.eviction(_, input.side))
      val evicted = left.getOrElse(PlanShape.Eviction.ByWatermark) match {
        case PlanShape.Eviction.Never => None
        case PlanShape.Eviction.ByItself => Some(Nil)
        case PlanShape.Eviction.ByWatermark =>
          known.evicted.filter(_.watermark.millis.nonEmpty).map(_ => waitsFor(_.evicted.map(_.watermark)))
      }
      val matters = (late ++ evicted.toSeq.flatten).toSet
      val evenIdle =
        idle.collect { case (origin, probed) if matters(origin) && isBehind(probed(input), known) => origin }
      val after = for {
        _ <- evicted.filter(_.size == 1)
        reached <- known.evicted.flatMap(_.watermark.millis)
      } yield Ahead - reached
      input -> Waits(late, evicted, evenIdle, after)
    }
  }

  private def isBehind(now: InputWatermarks, known: InputWatermarks): Boolean =
    isBehind(Some(now.input), Some(known.input)) || isBehind(now.evicted, known.evicted)

  private def isBehind(now: Option[AttributedWatermark], known: Option[AttributedWatermark]): Boolean =
    known.flatMap(_.watermark.millis).exists(all => now.flatMap(_.watermark.millis).forall(_ < all))

  private def reached(shape: PlanShape, origins: Map[OriginName, Watermark]): Map[Input, InputWatermarks] =
    Propagation.settled(shape, Decision(origins)).inputs

  /** Both inputs of a join, or the one of another operator, from the sources up. */
  def inputs(shape: PlanShape): Seq[(PlanShape, Input)] =
    PlanShape.postOrder(shape).flatMap(operator => PlanShape.inputsOf(operator).map(operator -> _)).distinctBy(_._2)
}
