package org.apache.spark.sql.tidemark.exec.order

import org.apache.spark.sql.catalyst.expressions.{Alias, Ascending, Attribute, MonotonicallyIncreasingID, SortOrder}
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}

/** A sort that leaves equal rows as they were read. Spark's own does so only as long as it has not spilled.
  *
  * Rows are numbered where the task reads them, behind the shuffle, so that no byte more is shuffled.
  */
private[tidemark] object ReadOrder {
  private val Name = "__tidemark_read_order"

  def stable(sort: SortExec): SparkPlan = {
    val number = Alias(MonotonicallyIncreasingID(), Name)()
    val numbered = ProjectExec(sort.child.output :+ number, sort.child)
    val order = sort.sortOrder :+ SortOrder(number.toAttribute, Ascending)
    ProjectExec(sort.output, sort.copy(sortOrder = order, child = numbered))
  }

  def isStable(sort: SortExec): Boolean = sort.sortOrder.lastOption.map(_.child).exists {
    case column: Attribute => column.name == Name
    case _ => false
  }
}
