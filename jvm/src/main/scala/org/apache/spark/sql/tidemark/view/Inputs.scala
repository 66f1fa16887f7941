package org.apache.spark.sql.tidemark.view

/** What a report says of the inputs of a query. */
private[view] object Inputs {

  /** Whether its clocks are what writers have noted: then its splits are the writers. */
  def isNoted(input: Fields): Boolean = input.has("noted")

  def isSplit(input: Fields): Boolean = input.texts("split_by").nonEmpty || isNoted(input)

  /** What a split of it is called. */
  def noun(input: Fields): String = if (isNoted(input)) "writer" else "split"
}
