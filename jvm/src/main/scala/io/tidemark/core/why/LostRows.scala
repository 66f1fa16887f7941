package io.tidemark.core.why

import io.tidemark.core.plan.PlanShape

/** Which rows of a query are lost: nothing of them comes out, whatever the watermark does. */
private[why] final class LostRows(of: Situation) {
  import LostRows._

  private val inputs = for (shape <- PlanShape.postOrder(of.shape); input <- PlanShape.inputsOf(shape))
    yield shape -> input

  /** An input of an operator to which only late rows came. */
  def all: Option[Verdict] = inputs.flatMap { case (shape, input) =>
    of.lastRows.get(input).filter(rows => rows.late > 0 && rows.late == rows.all).map { rows =>
      val judges = PlanShape.judgedByAll(shape, input.side).flatMap(of.origins.get)
      judges.find(_.watermark.millis.exists(Situation.isFarAhead(_, of.nowMillis))) match {
        case Some(origin) =>
          val eventTime = origin.maxEventTimeMillis.orElse(origin.watermark.millis).get
          WrongTime.FarAhead(of.operator(shape), origin.name, eventTime, of.nowMillis, rows.late, origin.lastGoodMillis)
        case None =>
          LateVerdict.AllLate(
            of.operator(shape),
            judges.headOption.map(_.name),
            rows.late,
            rows.mostMillis,
            judges.nonEmpty && judges.forall(_.watermark.millis.exists(_ < 0)))
      }
    }
  }.headOption

  /** One to which late rows come again and again, while others are not. */
  def some: Option[Verdict] = inputs.flatMap { case (shape, input) =>
    for {
      batches <- of.recentRows.get(input) if batches.count(_.late > 0) >= SeveralBatches
      rows = batches.reduce(_ and _) if rows.late >= rows.all / 100 + 1
    } yield {
      val judges = PlanShape.judgedByAll(shape, input.side)
      val origin = Option.when(judges.size == 1)(judges.head).flatMap(of.origins.get)
      LateVerdict.SomeLate(
        of.operator(shape),
        origin.map(_.name),
        rows.late,
        rows.all,
        batches.size,
        rows.mostMillis,
        // A row at the watermark is late.
        origin.map(_.delayMillis + rows.mostMillis + 1),
        origin.exists(_.isSplit),
        of.worstSplits.get(input))
    }
  }.headOption
}

private object LostRows {
  // A burst of late rows is over when people read of it.
  private val SeveralBatches = 3
}
