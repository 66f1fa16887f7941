package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.why.Words

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}

/** What people call a step of a plan that keeps no state: what it does, where Spark's name does not say it. */
private[planning] object StepLabel {
  private val MostColumns = 3
  private val LongestName = 30

  def of(plan: SparkPlan): String = plan match {
    case project: ProjectExec =>
      val made = project.projectList.collect { case Alias(by, name) if !by.isInstanceOf[Attribute] => name }
      val named = made.take(MostColumns).map(Words.legible(_, LongestName))
      (Seq("select") ++ Option.when(made.nonEmpty)(
        (named ++ Option.when(made.size > MostColumns)("...")).mkString(", "))).mkString(" ")
    case _: FilterExec => "where"
    case other => other.nodeName
  }
}
