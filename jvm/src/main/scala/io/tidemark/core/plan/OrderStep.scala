package io.tidemark.core.plan

import io.tidemark.core.ColumnId

/** What one node of a physical plan does to the order of its rows. */
sealed trait OrderStep {

  /** What people call the node. */
  def label: String
}

object OrderStep {

  /** Tasks read rows. A lane is a part of a source that has an order of its own, such as a partition of Kafka.
    *
    * @param id what they read: two nodes with the same number may read the same rows
    * @param lane rows that agree on these columns are of one lane. Without any, the source is one lane. `None`: it is not
    *   known which rows are of one
    * @param mixed how rows of several lanes come together, as the end of a sentence
    * @param cut why several tasks read one lane, as the end of a sentence; `None` if one task does
    */
  final case class Source(label: String, id: Int, lane: Option[Set[ColumnId]], mixed: String, cut: Option[String])
      extends OrderStep

  /** Puts each batch's rows into order: those that agree on `by` together in one partition, by `terms`.
    *
    * @param isOverBatches whether rows wait, so that a later batch has later rows only
    * @param passesLate whether rows that are late come out nonetheless
    */
  final case class InOrder(
      label: String,
      terms: Seq[OrderTerm],
      by: Set[ColumnId],
      isOverBatches: Boolean,
      passesLate: Boolean)
      extends OrderStep

  /** Makes of each row none, one or several, one row after the other.
    * @param columns the columns of the input that come out, and what they are called there
    */
  final case class Keeps(label: String, columns: Map[ColumnId, ColumnId]) extends OrderStep

  /** Spreads rows over partitions. What one task sends to another stays in order, unless nothing does.
    * @param by rows that agree on these columns go to one partition; `None`: rows go anywhere, in any order
    */
  final case class Shuffle(label: String, by: Option[Set[ColumnId]]) extends OrderStep

  /** Reads several partitions as one, one after the other. */
  final case class Coalesce(label: String) extends OrderStep

  /** Sorts each partition.
    * @param isStable whether rows that are equal by these values stay as they were
    */
  final case class Sort(label: String, by: Seq[OrderTerm], isStable: Boolean) extends OrderStep

  /** Has the rows of all inputs.
    * @param columns for each input, the columns by position as they come out
    */
  final case class Union(label: String, columns: Seq[Map[ColumnId, ColumnId]]) extends OrderStep

  /** Emits rows in an order of its own. */
  final case class Breaks(label: String, why: String) extends OrderStep
}
