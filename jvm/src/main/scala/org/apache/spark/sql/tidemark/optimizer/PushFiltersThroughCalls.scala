package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.FILTER
import org.apache.spark.sql.tidemark.columns.{AsyncMap, PythonCalls}

/** Filters rows before calls are made for them, where a condition does not need what the calls return.
  *
  * Spark pushes a filter below the functions of a user and below `withWatermark`, so that rows that are filtered out advance
  * no watermark. It does not do so with functions that are not deterministic, and asynchronous calls are declared as such:
  * the optimizer must not double them.
  */
object PushFiltersThroughCalls extends Rule[LogicalPlan] with PredicateHelper with AliasHelper {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformWithPruning(_.containsPattern(FILTER)) {
    case filter @ Filter(condition, project @ Project(columns, child))
        if condition.deterministic && hasCalls(columns) =>
      val plain = columns.filter(_.deterministic)
      val aliases = getAliasMap(plain)
      pushed(filter, AttributeSet(plain.map(_.toAttribute))) { some =>
        project.copy(child = Filter(replaceAlias(some, aliases), child))
      }
    case filter @ Filter(condition, calls: AsyncMap)
        if condition.deterministic && (calls.inputs ++ calls.key).forall(_.deterministic) =>
      pushed(filter, calls.child.outputSet)(some => calls.copy(child = Filter(some, calls.child)))
  }

  /** The filter with the part of its condition below that these columns decide. */
  private def pushed(filter: Filter, plain: AttributeSet)(below: Expression => LogicalPlan): LogicalPlan = {
    val (some, others) = splitConjunctivePredicates(filter.condition).partition { condition =>
      condition.references.subsetOf(plain) && !condition.exists(_.isInstanceOf[PlanExpression[_]])
    }
    some.reduceOption(And).fold[LogicalPlan](filter) { condition =>
      others.reduceOption(And).fold(below(condition))(Filter(_, below(condition)))
    }
  }

  /** Whether calls are all in these columns that is not deterministic. */
  private def hasCalls(columns: Seq[NamedExpression]): Boolean = {
    val others = columns.filterNot(_.deterministic)
    others.nonEmpty && others.forall { column =>
      val without = column.transform {
        case call: PythonUDF if PythonCalls.columnOf(call).nonEmpty && call.children.forall(_.deterministic) =>
          Literal.create(null, call.dataType)
      }
      without.deterministic
    }
  }
}
