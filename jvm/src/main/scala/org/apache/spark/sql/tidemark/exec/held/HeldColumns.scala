package org.apache.spark.sql.tidemark.exec.held

import java.util.Locale
import java.util.regex.Matcher

import scala.jdk.CollectionConverters._

import io.tidemark.{OrderErrors, TidemarkException}

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.tidemark.columns.InOrder
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/** The columns of held rows, as text that is kept beside them.
  *
  * After a restart the query may have columns more or fewer: the operators above the order decide which are read. Held
  * rows are then rewritten by the names of their columns. What decides where rows lie must not change.
  *
  * @param time the name of the event-time column
  * @param by what the rows are grouped by
  * @param zone the time zone of what they are grouped by, if it depends on one
  * @param columns the rows' types, without metadata
  * @param mayBeNull whether a value may be null in held rows that can no longer be null in new ones
  * @param isCaseSensitive whether names that differ in upper and lower case are different names
  */
private[tidemark] final case class HeldColumns(
    time: String,
    by: Seq[InOrder.Name],
    zone: Option[String],
    columns: StructType,
    mayBeNull: Boolean,
    isCaseSensitive: Boolean) {
  import HeldColumns._

  def size: Int = columns.size

  lazy val text: String = {
    val node = mapper.createObjectNode().put("time", time).put("columns", columns.json)
    val groups = node.putArray("by")
    by.foreach(key => groups.addObject().put("text", key.text).put("types", key.types))
    zone.foreach(node.put("zone", _))
    node.toString
  }

  /** What makes a row with these columns of the bytes of a row that was held before.
    *
    * @throws TidemarkException `ORDER_STATE_CHANGED` if the held rows cannot be used
    */
  def from(held: String): (Array[Byte], Int, Int) => UnsafeRow = {
    val node = mapper.readTree(held)
    val before = DataType.fromJson(node.get("columns").asText).asInstanceOf[StructType]
    val groupedBy = node.get("by").elements().asScala.toSeq.map { key =>
      InOrder.Name(key.get("text").asText, key.get("types").asText)
    }
    val orderedBy = node.get("time").asText
    if (!isSame(orderedBy, time)) throw changed(s"they were ordered by '$orderedBy', not by '$time'")
    if (groupedBy.map(key => folded(key.text)) != by.map(key => folded(key.text)))
      throw changed(s"they were grouped by ${named(groupedBy)}, not by ${named(by)}")
    val hasMoved = for (before <- Option(node.get("zone")).map(_.asText); now <- zone) yield !isSameZone(before, now)
    if (hasMoved.contains(true))
      throw changed(
        s"they were grouped by ${named(by)} in the time zone ${node.get("zone").asText}, not in ${zone.get}")
    val values = columns.map(column => valueOf(column, placeOf(column.name, before).map(at => before(at) -> at)))
    // Below the columns, whose types say more.
    if (groupedBy.map(_.types) != by.map(_.types))
      throw changed(s"what they were grouped by, ${named(by)}, is of other types, or reads its text by another schema")
    val project = UnsafeProjection.create(values)
    val row = new UnsafeRow(before.size)
    (bytes, offset, length) => {
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + offset.toLong, length)
      project(row)
    }
  }

  /** @param before what the column was in held rows, and its place; `None` if it is new */
  private def valueOf(column: StructField, before: Option[(StructField, Int)]): Expression = before match {
    case None if column.nullable || mayBeNull => Literal(null, column.dataType)
    case None => throw changed(s"the column '${column.name}' is new and cannot be null")
    case Some((held, at)) =>
      if (held.dataType.asNullable != column.dataType.asNullable)
        throw changed(
          s"the column '${column.name}' was of type ${held.dataType.simpleString}, and is now of type " +
            column.dataType.simpleString)
      val isNullAgain = held.nullable && !column.nullable && !mayBeNull
      if (isNullAgain || !DataType.equalsIgnoreCompatibleNullability(held.dataType, column.dataType))
        throw changed(s"the column '${column.name}', or a value in it, could be null, and no longer can")
      BoundReference(at, column.dataType, nullable = true)
  }

  private def isSame(a: String, b: String): Boolean = if (isCaseSensitive) a == b else a.equalsIgnoreCase(b)

  /** An expression of which upper and lower case count in its literals alone, if not everywhere. */
  private def folded(expression: String): String =
    if (isCaseSensitive) expression
    else Parts.replaceAllIn(expression, part => Matcher.quoteReplacement(foldedPart(part.matched)))

  private def placeOf(name: String, held: StructType): Option[Int] = {
    val exact = held.fieldNames.indexOf(name)
    Some(if (exact >= 0) exact else held.fieldNames.indexWhere(isSame(_, name))).filter(_ >= 0)
  }
}

private[tidemark] object HeldColumns {
  private val mapper = new ObjectMapper

  // A literal as Spark writes it in SQL, or what lies between two of them.
  private val Parts = raw"""'(?:[^'\\]|\\.)*'|[^']+""".r

  private def foldedPart(part: String): String = if (part.startsWith("'")) part else part.toLowerCase(Locale.ROOT)

  def of(order: HeldOrder, output: Seq[Attribute], isCaseSensitive: Boolean): HeldColumns = {
    val names = InOrder.names(output, order.repeated)
    HeldColumns(
      output.map(_.exprId).zip(names).toMap.apply(order.time.exprId),
      order.names,
      order.zone,
      StructType(output.zip(names).map { case (column, as) =>
        StructField(as, plain(column.dataType), column.nullable)
      }),
      mayBeNull = !order.isAdded,
      isCaseSensitive)
  }

  /** A type without metadata and names of a user's types. */
  private def plain(dataType: DataType): DataType = dataType match {
    case struct: StructType =>
      StructType(struct.map(field => StructField(field.name, plain(field.dataType), field.nullable)))
    case ArrayType(element, mayBeNull) => ArrayType(plain(element), mayBeNull)
    case MapType(key, value, mayBeNull) => MapType(plain(key), plain(value), mayBeNull)
    case user: UserDefinedType[_] => plain(user.sqlType)
    case other => other
  }

  /** A zone may have several names. */
  private def isSameZone(a: String, b: String): Boolean =
    DateTimeUtils.getZoneId(a).getRules == DateTimeUtils.getZoneId(b).getRules

  private def changed(why: String) = new TidemarkException(OrderErrors.OrderStateChanged(why))

  private def named(keys: Seq[InOrder.Name]): String =
    if (keys.isEmpty) "nothing" else keys.map(_.text).mkString("'", "', '", "'")
}
