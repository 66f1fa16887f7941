package org.apache.spark.sql.tidemark.optimizer

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF
import org.apache.spark.sql.tidemark.columns.{BinaryKey, PythonCalls}

/** Gives functions in Python one key for all that is equal for Spark, such as texts of a collation and zeros of both signs:
  * Spark puts their rows into one task, and there at most one of their calls is in flight.
  */
object NormalizeKeysOfCalls extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithPruning(_.containsPattern(PYTHON_UDF)) {
      case call: PythonUDF if PythonCalls.isKeyed(call) && call.getTagValue(IsNormalized).isEmpty =>
        val replaced = call.copy(children = call.children.init :+ normalized(call, call.children.last))
        replaced.setTagValue(IsNormalized, true)
        replaced
    }

  // Spark may run the rule again on its own result.
  private val IsNormalized = TreeNodeTag[Boolean]("tidemark.isNormalized")

  /** On Spark 4.0 Python gets the key as text. */
  private def normalized(call: PythonUDF, key: Expression): Expression = key match {
    case cast: Cast if call.evalType == PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF =>
      cast.withNewChildren(Seq(BinaryKey.of(cast.child)))
    case _ => BinaryKey.of(key)
  }
}
