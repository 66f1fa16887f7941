package org.apache.spark.sql.tidemark.session

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, Literal}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

object SqlFunctions {

  /** What Spark needs to register a function. */
  type Description = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression)

  /** @param usage the function's arguments and result, without its name */
  private[tidemark] def described(of: Class[_], name: String, usage: String)(
      build: Seq[Expression] => Expression): Description = {
    (new FunctionIdentifier(name), info(of, name, usage), build)
  }

  private[tidemark] def info(of: Class[_], name: String, usage: String): ExpressionInfo =
    new ExpressionInfo(of.getName, null, name, s"_FUNC_$usage", "", "", "", "", "", "", "built-in")

  private[tidemark] def text(value: String): Expression = Literal(UTF8String.fromString(value), StringType)
}
