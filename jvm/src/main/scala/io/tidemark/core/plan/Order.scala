package io.tidemark.core.plan

import io.tidemark.core.ColumnId

/** What is known of the order of a node's rows. It is about the rows of one query, whatever order tasks run in. */
sealed trait Order

object Order {

  /** Rows in the order of a time, or of other values.
    *
    * @param names the values, in the words of the query, the most significant one first
    * @param terms those of them that can still be sorted by, from the first on
    * @param groups rows that agree on these columns are in order in their partition. `None`: a batch's rows are in no
    *   order, but a sort can put them back into it
    * @param isOverBatches whether every row of a later batch comes after all rows of earlier ones
    * @param flaw where the order was lost in part, because of which some rows may come out of order
    * @param gone where the next value was lost that could be sorted by
    */
  final case class Time(
      names: Seq[String],
      terms: Seq[OrderTerm],
      groups: Option[Set[ColumnId]],
      isOverBatches: Boolean,
      flaw: Option[Lost] = None,
      gone: Option[Lost] = None)
      extends Order

  /** Rows of one lane of a source that agree on some columns are in one partition, in the order of the lane.
    *
    * @param sources what was read
    * @param lane the columns on which rows have to agree to be of one lane
    * @param spreads the columns on which rows have to agree to be in one partition, for each step that has spread rows
    * @param flaw where the order was lost in part. Only rows that one task has read are in the order of their lane then
    */
  final case class Arrival(sources: Set[Int], lane: Agreement, spreads: Seq[Agreement], flaw: Option[Lost] = None)
      extends Order

  /** No order is known.
    * @param at the step of the plan that lost it
    * @param why how, as the end of a sentence
    */
  final case class Lost(at: String, why: String) extends Order

  /** Rows that agree on some columns belong together.
    * @param columns `None` if one of them is not, or is no longer, a column of the rows
    * @param otherwise what becomes of rows that do not agree
    */
  final case class Agreement(columns: Option[Set[ColumnId]], otherwise: Lost) {

    /** Whether rows that agree on these keys belong together. */
    def isOf(keys: Set[ColumnId]): Boolean = columns.exists(_.subsetOf(keys))

    private[plan] def renamed(names: Map[ColumnId, ColumnId]): Agreement =
      copy(columns = columns.filter(_.forall(names.contains)).map(_.map(names)))
  }
}

/** A value that rows are ordered by.
  *
  * @param name the value in the words of the query
  * @param shape the number of the expression without its columns: equal shapes of the same columns are equal values
  * @param columns the columns that it is computed from
  */
final case class OrderTerm(name: String, shape: Int, columns: Seq[ColumnId]) {
  def isSame(that: OrderTerm): Boolean = shape == that.shape && columns == that.columns

  /** The same value of renamed columns; `None` if one of them is gone. */
  def renamed(names: Map[ColumnId, ColumnId]): Option[OrderTerm] =
    Option.when(columns.forall(names.contains))(copy(columns = columns.map(names)))
}
