package org.apache.spark.sql.tidemark.exec.held

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.tidemark.columns.InOrder

/** The order for which rows are held, as [[InOrder]] asks for it.
  *
  * @param names what `by` is, in the words of the query
  * @param zone the time zone that the values of `by` depend on, if they do
  * @param repeated the columns that have a name in common, those included that nothing reads
  * @param isAdded whether a setting asks for it. What is above was made without it, and a column that cannot be null for
  *   Spark must not become null
  */
private[tidemark] final case class HeldOrder(
    time: Attribute,
    by: Seq[Attribute],
    names: Seq[InOrder.Name],
    zone: Option[String],
    repeated: Seq[Attribute],
    dropsLate: Boolean,
    isAdded: Boolean)
