package io.tidemark.core.support

import io.tidemark.core.{ColumnId, Input, OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.memory.OriginState
import io.tidemark.core.plan.{Decision, PlanShape, Propagation}
import io.tidemark.core.plan.PlanShape._
import io.tidemark.core.splits.{SplitNameTable, Splits, SplitState}

/** Short names for what the tests of plans are written in. */
private[core] object Plans {
  private val Clock = raw"(\d+):(\d\d)(?::(\d\d)\.(\d{3}))?".r

  /** "10:17" or "10:17:59.999" of one day, in ms. */
  def time(text: String): Long = text match {
    case Clock(hour, minute, second, millis) =>
      val seconds = (hour.toLong * 60 + minute.toLong) * 60 + Option(second).fold(0L)(_.toLong)
      seconds * 1000 + Option(millis).fold(0L)(_.toLong)
    case other => throw new IllegalArgumentException(s"not a time: $other")
  }

  def minutes(count: Long): Long = count * 60 * 1000
  def at(millis: Long): Watermark = Watermark.At(millis)

  /** An origin that has got this far, by an input that is not split. */
  def state(watermark: Watermark, maxEventTimeMillis: Option[Long] = None): OriginState = {
    val splits = watermark match {
      case Watermark.Idle(reached) =>
        SplitList.splits(Seq(SplitList.One(SplitNameTable.Whole, SplitState.Idle, reached, 0L)), Watermark.Unknown)
      case other => Splits.none.atLeast(other)
    }
    OriginState(splits, maxEventTimeMillis)
  }
  def named(key: String): OriginName = OriginName(key, 0)
  def col(id: Long): ColumnId = ColumnId(id)

  def origin(key: String, column: Long, input: PlanShape = Source("files")): Origin =
    Origin("withWatermark", named(key), col(column), input)

  /** Output column -> input column. */
  def project(input: PlanShape, columns: (Long, Long)*): Stateless =
    Stateless("project", Seq(input), columns.map { case (to, from) => col(to) -> col(from) })

  /** A union with one event-time column, the first, called like that of its first input. */
  def union(inputs: (PlanShape, Option[Long])*): Union = {
    val columns = inputs.map(_._2.map(col))
    Union("union", Some(0), inputs.map(_._1), Seq(UnionColumn(columns.head.get, 0, columns)))
  }

  def aggregation(id: Long, input: PlanShape, active: Long, carried: Long*): Stateful =
    Stateful("aggregation", OperatorId(id), input, Some(col(active)), Seq(col(active)), carried.map(col))

  def left(operator: Long): Input = Input(OperatorId(operator), Side.Left)
  def right(operator: Long): Input = Input(OperatorId(operator), Side.Right)

  /** A decision that has only the watermarks of these origins. */
  def decided(origins: (String, Watermark)*): Decision =
    Decision.none.copy(origins = origins.map { case (key, watermark) => named(key) -> watermark }.toMap)

  def names(shape: PlanShape): Seq[OriginName] = postOrder(shape).collect { case o: Origin => o.name }.distinct

  /** The watermark of each column that leaves the plan. */
  def out(shape: PlanShape, decision: Decision): Map[Long, Watermark] =
    Propagation.levels(shape, decision).root.out.columns.map { case (id, held) => id.value -> held.watermark }
}
