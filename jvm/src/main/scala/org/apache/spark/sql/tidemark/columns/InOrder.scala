package org.apache.spark.sql.tidemark.columns

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Puts the rows of a stream in the order of a time. The columns are the child's. If rows wait, each may be null: a row may
  * be older than the column, or than the expression that makes it.
  *
  * @param time event time if rows wait for the watermark, else any column that can be ordered
  * @param timeName what the time is, in the words of the query
  * @param by rows with the same values here lie together, each group in order. Without any, all rows are one group
  * @param names what `by` is, in the words of the query, with what the words leave out
  * @param zone the time zone that the values of `by` depend on, if they do
  * @param repeated the columns that have a name in common, all of those that the query's author sees: Spark leaves out those
  *   that nothing reads, and the others must not get their places
  * @param thenBy decides between rows of the same time. It is computed when rows are emitted, so that it is not kept with them
  * @param waits whether rows are held until the watermark has passed them, so that the order holds over all batches
  * @param dropsLate whether late rows are dropped; if not, they are emitted immediately
  * @param isAdded whether a setting asks for it, and not the query
  */
private[tidemark] case class InOrder(
    time: Attribute,
    timeName: String,
    by: Seq[Attribute],
    names: Seq[InOrder.Name],
    zone: Option[String],
    repeated: Seq[Attribute],
    thenBy: Seq[Expression],
    waits: Boolean,
    dropsLate: Boolean,
    isAdded: Boolean,
    child: LogicalPlan)
    extends UnaryNode {
  override def output: Seq[Attribute] =
    if (waits && !isAdded) child.output.map(_.withNullability(true)) else child.output

  // Referenced, so that Spark never prunes a column that only the order needs.
  override lazy val references: AttributeSet = AttributeSet(time +: (by ++ thenBy).flatMap(_.references))
  override protected def withNewChildInternal(newChild: LogicalPlan): InOrder = copy(child = newChild)
}

private[tidemark] object InOrder {

  /** What an expression of `by` is, for a restart to compare.
    * @param text the expression in SQL
    * @param types those of all of its parts: the text leaves out the schema that a function reads a text by
    */
  final case class Name(text: String, types: String)

  def typesOf(expression: Expression): String = expression.collect { case part =>
    part.dataType.catalogString
  }.mkString(" ")

  /** Those of some columns that share their names, as after a join. */
  def repeated(columns: Seq[Attribute]): Seq[Attribute] = {
    val different = columns.distinctBy(_.exprId)
    val counts = different.groupMapReduce(folded)(_ => 1)(_ + _)
    different.filter(column => counts(folded(column)) > 1)
  }

  /** The names of some columns, each once: one of the repeated columns has its place among those in its name. */
  def names(columns: Seq[Attribute], repeated: Seq[Attribute]): Seq[String] = {
    val known = AttributeSet(repeated)
    val byName = (repeated ++ columns.filterNot(known.contains)).groupBy(folded)
    columns.map { column =>
      byName(folded(column)).indexWhere(_.exprId == column.exprId) match {
        case 0 => column.name
        case before => s"${column.name} ${before + 1}"
      }
    }
  }

  /** Upper and lower case are the same to most queries. */
  private def folded(column: Attribute): String = column.name.toLowerCase(Locale.ROOT)
}
