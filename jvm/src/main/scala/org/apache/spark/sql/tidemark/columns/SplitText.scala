package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The text that names a split: different values have different texts, the same in every session. */
private[tidemark] object SplitText {

  /** The name of a split that a user expects by the text of its value; `None` if no value has that text. Types that cannot
    * be parsed back from text accept any name.
    *
    * @param kind the type of the values
    * @param declared the CHAR or VARCHAR type that the column has in its table
    */
  def expected(text: String, kind: DataType, declared: Option[DataType]): Option[String] =
    declared.fold(Option(text))(fitted(text, _)).flatMap { value =>
      val read = kind match {
        case BooleanType | DateType | TimestampType | TimestampNTZType | _: NumericType | _: AnsiIntervalType =>
          Some(Cast(Literal(value), kind, Some("UTC"), EvalMode.TRY))
        case BinaryType => Some(Unhex(Literal(value)))
        case _: StringType => Some(Literal(UTF8String.fromString(value), kind))
        case _ => None
      }
      def textOf(found: Expression) = SplitText(found).eval().toString
      read.map(_.eval()).fold(Option(value)) { found =>
        val literal = Literal(found, kind)
        Option.when(found != null && textOf(literal) == value)(textOf(BinaryKey.of(literal)))
      }
    }

  /** A text as a column of that type has it: CHAR ends with blanks. `None` if it is too long. */
  private def fitted(text: String, declared: DataType): Option[String] = {
    def upTo(length: Int) = {
      val blanks = text.reverseIterator.takeWhile(_ == ' ').size
      val more = text.codePointCount(0, text.length) - length
      Option.when(more <= blanks)(text.dropRight(math.max(more, 0)))
    }
    declared match {
      case char: CharType =>
        upTo(char.length).map(text => text + " " * (char.length - text.codePointCount(0, text.length)))
      case varchar: VarcharType => upTo(varchar.length)
      case _ => Some(text)
    }
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
