package org.apache.spark.sql.tidemark.session

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

object SqlFunctions {

  /** What Spark needs to register a function. */
  type Description = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression)

  /** What Spark needs to register a table function. */
  type TableDescription = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)

  /** @param usage the function's arguments and result, without its name
    * @param build what takes the place of a call: an expression, or the plan of a table
    */
  private[tidemark] def described[A](of: Class[_], name: String, usage: String)(
      build: Seq[Expression] => A): (FunctionIdentifier, ExpressionInfo, Seq[Expression] => A) = {
    val info = new ExpressionInfo(of.getName, null, name, s"_FUNC_$usage", "", "", "", "", "", "", "built-in")
    (new FunctionIdentifier(name), info, build)
  }

  private[tidemark] def text(value: String): Expression = Literal(UTF8String.fromString(value), StringType)

  /** The text that an argument always is; `None` if it is null, no text, or differs from row to row. */
  private[tidemark] def constantText(argument: Expression): Option[String] =
    if (argument.foldable && argument.dataType == StringType) Option(argument.eval()).map(_.toString) else None
}
