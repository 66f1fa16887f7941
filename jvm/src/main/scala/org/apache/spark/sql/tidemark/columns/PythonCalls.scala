package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.types.{DataType, StringType, StructType}

/** What the engine knows of `tidemark.map_async` in Python, whose functions it sees as any others: how they are named, and
  * what they return.
  */
private[tidemark] object PythonCalls {

  /** Begins the name of such a function. The column follows. */
  val Prefix = "tidemark.map_async: "

  /** The same of a function whose last input is a key. */
  val KeyedPrefix = "tidemark.map_async by key: "

  /** A result is a struct: the value, and in some rows what the worker says of its calls. Not so on Spark 4.0. */
  val Fields = 2
  val StatsAt = 1

  def columnOf(call: PythonUDF): Option[String] =
    Seq(Prefix, KeyedPrefix).collectFirst {
      case prefix if call.name.startsWith(prefix) => call.name.stripPrefix(prefix)
    }

  def isKeyed(call: PythonUDF): Boolean = call.name.startsWith(KeyedPrefix)

  def hasStats(result: DataType): Boolean = result match {
    case StructType(Array(_, stats)) => stats.name == "tidemark_calls" && stats.dataType == StringType
    case _ => false
  }
}
