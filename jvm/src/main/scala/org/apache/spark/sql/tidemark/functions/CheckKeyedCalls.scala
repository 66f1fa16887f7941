package org.apache.spark.sql.tidemark.functions

import io.tidemark.{AsyncErrors, TidemarkException}

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.tidemark.columns.{AsyncMap, PythonCalls}

/** Refuses asynchronous calls with a key whose rows may be in several tasks: a task knows only its own calls, so several of
  * one key would be in flight at one time.
  */
object CheckKeyedCalls extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach {
    case calls: AsyncMap => calls.key.foreach(require(calls.result.name, _, calls.child))
    case node =>
      for {
        expression <- node.expressions
        call <- expression.collect { case call: PythonUDF if PythonCalls.isKeyed(call) => call }
        column <- PythonCalls.columnOf(call)
      } node.children.foreach(require(column, keyOf(call), _))
  }

  /** The key as it was given. On Spark 4.0 Python gets its inputs as text, by functions over pandas. */
  private def keyOf(call: PythonUDF): Expression = call.children.last match {
    case Cast(UnixMicros(key), _, _, _) if isOverPandas(call) => key
    case Cast(key, _, _, _) if isOverPandas(call) => key
    case key => key
  }

  private def isOverPandas(call: PythonUDF): Boolean =
    call.evalType == PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF

  private def require(column: String, key: Expression, child: LogicalPlan): Unit =
    if (!RowsOfKey.areTogether(key, child))
      throw new TidemarkException(AsyncErrors.AsyncKeySpread(column, inWords(key)))

  private def inWords(key: Expression): String =
    key.transform { case column: Attribute => column.withQualifier(Nil) }.sql
}
