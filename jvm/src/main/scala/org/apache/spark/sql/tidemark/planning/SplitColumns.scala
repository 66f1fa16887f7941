package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression}
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeWatermarkExec, StateStoreWriter}
import org.apache.spark.sql.tidemark.exec.{OperatorInputExec, SplitClocksExec}

/** What names the split of a row where it comes into an operator.
  *
  * Known if there is one way down to the clocks of one split input, and the columns to split by come along that way. Spark
  * leaves out columns that nothing above needs. They are kept as far as the operator's input, unless they would have to be
  * shuffled or stored. Where several inputs meet, a column may have the rows of another input.
  */
private[planning] object SplitColumns {

  /** An operator's input with the columns that name a row's split, if they can be had there, and the expressions that do;
    * empty if the split is not known.
    */
  def named(input: OperatorInputExec): (OperatorInputExec, Seq[Expression]) = at(input) match {
    case Nil =>
      val wider = kept(input.child).fold(input) { case (below, _) => input.copy(child = below) }
      wider -> at(wider)
    case some => input -> some
  }

  /** The plan with all columns that the clocks of a split input below it split by, and these columns. */
  private def kept(plan: SparkPlan): Option[(SparkPlan, Seq[Attribute])] = plan match {
    case clocks: SplitClocksExec if clocks.keys.nonEmpty => Some(clocks -> clocks.keys)
    case project: ProjectExec =>
      for ((below, keys) <- kept(project.child)) yield {
        val missing = keys.filterNot(key => project.projectList.exists(_.exprId == key.exprId))
        project.copy(projectList = project.projectList ++ missing, child = below) -> keys
      }
    case _: FilterExec | _: EventTimeWatermarkExec | _: SplitClocksExec =>
      for ((below, keys) <- kept(plan.children.head)) yield plan.withNewChildren(Seq(below)) -> keys
    case _ => None
  }

  /** The expressions that name a row's split there; empty if that is not known. */
  private def at(input: OperatorInputExec): Seq[Expression] = {
    val path = Iterator.iterate(Option(input.child))(_.flatMap(down)).takeWhile(_.nonEmpty).flatten.toSeq
    path.collect { case clocks: SplitClocksExec if clocks.keys.nonEmpty => clocks } match {
      case Seq(clocks) =>
        val columns = path.takeWhile(_ ne clocks).foldRight(clocks.output.map(a => a -> a))(passed)
        val visible = AttributeMap(columns.filter { case (_, now) =>
          input.child.output.exists(_.exprId == now.exprId)
        })
        val names = clocks.keys.map(key => nameOf(key, computed(clocks.child), visible))
        if (names.forall(_.nonEmpty)) names.flatten else Nil
      case _ => Nil
    }
  }

  private def down(plan: SparkPlan): Option[SparkPlan] = plan match {
    case _: StateStoreWriter => None
    case other => Option.when(other.children.size == 1)(other.children.head)
  }

  /** The columns above a node, each with the column at the clocks that it is. */
  private def passed(node: SparkPlan, columns: Seq[(Attribute, Attribute)]): Seq[(Attribute, Attribute)] = {
    val renamed = node match {
      case project: ProjectExec =>
        project.projectList.collect { case alias @ Alias(column: Attribute, _) => column.exprId -> alias.toAttribute }
      case _ => Nil
    }
    columns.flatMap { case (origin, now) =>
      val same = node.output.filter(_.exprId == now.exprId)
      (same ++ renamed.collect { case (from, to) if from == now.exprId => to }).map(origin -> _)
    }
  }

  private def nameOf(
      key: Attribute,
      computed: AttributeMap[Expression],
      visible: AttributeMap[Attribute]): Option[Expression] =
    visible.get(key).orElse(computed.get(key).filter(by =>
      by.deterministic && by.references.forall(visible.contains)).map {
      _.transform { case column: Attribute => visible(column) }
    })

  /** What the user has split by, for the hidden columns that have its values. Spark may compute them together with the
    * columns that they are computed from.
    */
  private def computed(below: SparkPlan): AttributeMap[Expression] = below match {
    case project: ProjectExec =>
      val names = AttributeMap(project.projectList.collect {
        case alias @ Alias(column: Attribute, _) => column -> alias.toAttribute
        case column: Attribute => column -> column
      })
      AttributeMap(project.projectList.collect { case alias: Alias =>
        alias.toAttribute -> alias.child.transform { case column: Attribute => names.getOrElse(column, column) }
      })
    case _ => AttributeMap.empty
  }
}
