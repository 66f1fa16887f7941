package io.tidemark.core

/** One event-time column on an edge of a plan (Spark's expression id). The watermark follows it. */
final case class ColumnId(value: Long)

/** An origin's name across restarts: its key, and its number among the origins with the same key. */
final case class OriginName(key: String, ordinal: Int) {
  override def toString: String = if (ordinal == 0) key else s"$key#$ordinal"
}

/** A stateful operator, by the number that Spark gives it (and keeps in the checkpoint). */
final case class OperatorId(value: Long)

/** An input of a stateful operator. One-sided operators have a left input only. */
sealed abstract class Side(val name: String) {
  def other: Side
}
object Side {
  case object Left extends Side("left") { def other: Side = Right }
  case object Right extends Side("right") { def other: Side = Left }
}

/** An input of a stateful operator of the plan. */
final case class Input(operator: OperatorId, side: Side)

/** A column that an operator carries beside the active one: the `index`-th of its input. */
final case class CarriedSlot(input: Input, index: Int)

/** An output column of a union: unions are counted in plan order, columns by position. */
final case class UnionSlot(union: Int, position: Int)
