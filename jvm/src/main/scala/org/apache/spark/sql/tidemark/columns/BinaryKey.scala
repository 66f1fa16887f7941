package org.apache.spark.sql.tidemark.columns

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.types._

/** A key that is compared by its bytes, as those of splits and of asynchronous calls are: one value for all values that are
  * equal for Spark.
  *
  * Zero and minus zero, and texts of a collation, may be equal with other bytes. They are replaced here, also inside structs
  * and arrays. Other values stay as they are.
  */
private[tidemark] object BinaryKey {

  def of(value: Expression): Expression = value.dataType match {
    case kind if !isReplaced(kind) => value
    case FloatType | DoubleType => NormalizeNaNAndZero(value)
    // The key of such a collation is a text, so that the split's name can be read.
    case _: StringType => Cast(CollationKey(value), StringType, None, EvalMode.LEGACY)
    case struct: StructType =>
      val fields = struct.fields.toSeq.zipWithIndex.flatMap { case (field, index) =>
        Seq(Literal(field.name), of(GetStructField(value, index)))
      }
      val key = CreateNamedStruct(fields)
      if (value.nullable) If(IsNull(value), Literal(null, key.dataType), key) else key
    case ArrayType(element, hasNulls) =>
      val each = NamedLambdaVariable("each", element, hasNulls)
      ArrayTransform(value, LambdaFunction(of(each), Seq(each)))
    case _ => value
  }

  /** The collation, if a type has one whose keys may change with the ICU library: Spark has no such text in state either.
    */
  def changingCollation(kind: DataType): Option[String] = kind match {
    case text: StringType =>
      Some(collation(text)).filter(rule => !rule.supportsBinaryEquality && rule.provider == Icu).map(_.collationName)
    case struct: StructType => struct.fields.iterator.flatMap(field => changingCollation(field.dataType)).nextOption()
    case ArrayType(element, _) => changingCollation(element)
    case _ => None
  }

  private def isReplaced(kind: DataType): Boolean = kind match {
    case FloatType | DoubleType => true
    case text: StringType => !collation(text).supportsBinaryEquality
    case struct: StructType => struct.fields.exists(field => isReplaced(field.dataType))
    case ArrayType(element, _) => isReplaced(element)
    case _ => false
  }

  private def collation(text: StringType) = CollationFactory.fetchCollation(text.collationId)

  private val Icu = "icu"
}
