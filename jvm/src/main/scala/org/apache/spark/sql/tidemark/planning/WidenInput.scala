package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.execution.{GenerateExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.tidemark.exec.order.InOrderExec

/** Keeps the columns that an order needs, up to where rows have to be sorted again.
  *
  * Nothing above an order may read the columns of its time, so Spark's optimizer prunes them from the plan. Spark's own sort
  * keeps its columns in the same way.
  */
private[planning] object WidenInput {

  /** A plan that passes on the columns of the orders below it, as far as each step can; its other columns are the same. */
  def apply(plan: SparkPlan): SparkPlan = {
    val needed = AttributeSet(orders(plan).flatMap(_.namedWithinGroups.flatMap(_._2.references)))
    if (needed.subsetOf(plan.outputSet)) plan else widened(plan, needed)
  }

  /** The orders that may still be the plan's own. */
  private def orders(plan: SparkPlan): Seq[InOrderExec] = plan match {
    case order: InOrderExec => Seq(order)
    case other => other.children.flatMap(orders)
  }

  private def widened(plan: SparkPlan, needed: AttributeSet): SparkPlan = plan match {
    case order: InOrderExec => order
    case other =>
      other.children.zipWithIndex.foldLeft(other) { case (node, (child, place)) =>
        val wide = widened(child, needed)
        val more = wide.output.filter(column => needed.contains(column) && !node.outputSet.contains(column))
        // A column that exists already comes out by itself.
        if (more.isEmpty && (wide eq child)) node
        else passing(node.withNewChildren(node.children.updated(place, wide)), more).getOrElse(node)
      }
  }

  /** The node, if it passes these columns of its input on; `None` if it cannot, as a union or an aggregation. */
  private def passing(node: SparkPlan, more: Seq[Attribute]): Option[SparkPlan] = {
    val all = node match {
      case project: ProjectExec => project.copy(projectList = project.projectList ++ more)
      case generate: GenerateExec => generate.copy(requiredChildOutput = generate.requiredChildOutput ++ more)
      case other => other
    }
    Option.when(AttributeSet(more).subsetOf(all.outputSet))(all)
  }
}
