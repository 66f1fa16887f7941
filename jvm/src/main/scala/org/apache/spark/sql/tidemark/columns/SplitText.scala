package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** The text that names a split: different values have different texts, the same in every session. */
private[tidemark] object SplitText {

  /** Whether `name` is the text of some value of this type. Types that cannot be parsed back from text accept any name.
    */
  def isText(name: String, kind: DataType): Boolean = {
    val read = kind match {
      case BooleanType | DateType | TimestampType | TimestampNTZType | _: NumericType | _: AnsiIntervalType =>
        Some(Cast(Literal(name), kind, Some("UTC"), EvalMode.TRY))
      case BinaryType => Some(Unhex(Literal(name)))
      case _ => None
    }
    read.map(_.eval()).forall(value => value != null && SplitText(Literal(value, kind)).eval().toString == name)
  }

  private val jsonOptions = Map(
    "ignoreNullFields" -> "false",
    "timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")

  /** The text of a value, as an expression. */
  def apply(value: Expression): Expression = {
    val text = value.dataType match {
      case _: StringType => value
      case BinaryType => Hex(value)
      case _: StructType | _: ArrayType => StructsToJson(jsonOptions, value, Some("UTC"))
      case _ => Cast(value, StringType, Some("UTC"))
    }
    text.transformUp { case replaced: RuntimeReplaceable => replaced.replacement }
  }
}
