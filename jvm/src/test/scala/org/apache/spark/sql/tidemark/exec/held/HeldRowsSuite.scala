package org.apache.spark.sql.tidemark.exec.held

import scala.collection.mutable
import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, UnsafeProjection}
import org.apache.spark.sql.tidemark.columns.InOrder
import org.apache.spark.sql.tidemark.support.Refusals
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Held rows in pages, without Spark's stores: large and small pages, merges, pages that are released in part. */
class HeldRowsSuite extends AnyFunSuite with Refusals {

  /** A store in memory that counts what is done with it. */
  private final class Store extends PageStore {
    val entries = mutable.HashMap.empty[Long, Array[Byte]]
    var puts = 0
    override protected def get(id: Long): Option[Array[Byte]] = entries.get(id)
    override def put(id: Long, bytes: Array[Byte]): Unit = { puts += 1; entries(id) = bytes.clone() }
    override def remove(id: Long): Unit = entries -= id
  }

  private val time = AttributeReference("time", TimestampType)()
  private val text = AttributeReference("text", StringType)()
  private val project = UnsafeProjection.create(Array[DataType](TimestampType, StringType))
  private def columnsOf(
      time: Attribute,
      by: Seq[String],
      output: Seq[Attribute],
      repeated: Seq[Attribute] = Nil,
      types: String = "",
      isAdded: Boolean = false) = {
    val all = if (repeated.isEmpty) InOrder.repeated(output) else repeated
    val order = HeldOrder(time, Nil, by.map(InOrder.Name(_, types)), zone = None, all, dropsLate = true, isAdded)
    HeldColumns.of(order, output, isCaseSensitive = false)
  }
  private val columns = columnsOf(time, Seq("text"), Seq(time, text))

  /** One batch: what is released, by time and length of the text, and how many rows are held after it. */
  private def batch(store: Store, release: Long, rows: Seq[(Long, String)]): (Seq[(Long, String)], Long) = {
    val held = new HeldRows(store, columns, release)
    rows.sortBy(_._1).foreach { case (at, value) =>
      held.hold(at, project(InternalRow(at, UTF8String.fromString(value))))
    }
    val out = held.due().map(row => row.getLong(0) -> row.getString(1)).toVector
    (out, held.finish().rows)
  }

  for ((name, length, perBatch) <- Seq(("small rows", 5, 40), ("rows of 20 kB", 20000, 12), ("one row a batch", 3, 1)))
    test(s"each row is released once, in the batch whose watermark passes it: $name") {
      val random = new Random(name.hashCode)
      val store = new Store
      var model = Vector.empty[(Long, String)]
      var watermark = 0L
      for (n <- 0 until 150) {
        if (random.nextInt(3) > 0) watermark += random.nextInt(40)
        val rows = Seq.fill(random.nextInt(perBatch + 1))(
          (
            watermark + 1 + random.nextInt(if (random.nextInt(5) == 0) 2000 else 100),
            s"$n" * (1 + random.nextInt(length))))
        val (out, left) = batch(store, watermark, rows)
        val (due, rest) = (model ++ rows).partition(_._1 <= watermark)
        assert(out.sorted === due.sorted)
        assert(left === rest.size)
        model = rest
        // The list, the columns, and pages: none is left behind.
        assert(store.entries.size <= 2 + 130)
      }
      val (out, left) = batch(store, Long.MaxValue, Nil)
      assert(out.sorted === model.sorted && left === 0L)
      assert(store.entries.keySet.filter(_ >= 0) === Set.empty)
    }

  test("a batch without rows in which nothing is due writes nothing") {
    val store = new Store
    batch(store, 0L, Seq(5L -> "a", 9L -> "b"))
    val puts = store.puts
    assert(batch(store, 4L, Nil) === (Nil, 2L))
    assert(store.puts === puts)
  }

  test("held rows continue by the names of their columns") {
    val store = new Store
    batch(store, 0L, Seq(5L -> "a", 9L -> "b"))
    val number = AttributeReference("number", LongType)()
    val now = columnsOf(time, Seq("text"), Seq(number, text, time))
    val held = new HeldRows(store, now, 5L)
    assert(held.due().map(row => (row.isNullAt(0), row.getString(1), row.getLong(2))).toSeq === Seq((true, "a", 5L)))
    held.finish()
    // And back, without the column that was new.
    assert(batch(store, 9L, Nil) === (Seq(9L -> "b"), 0L))
  }

  test("a row that waits for long does not keep the bytes of the rows around it") {
    val store = new Store
    for (n <- 1L to 20L)
      batch(store, n * 10, (1L to 200L).map(i => (n * 10 + 1 + i % 10) -> "x" * 50) :+ (1000000L -> "far"))
    val held = new HeldRows(store, columns, 300L)
    assert(held.due().size > 0)
    val pages = held.finish()
    assert(pages.rows === 20L)
    assert(pages.bytes < 20L * 200)
  }

  test("names of another case, metadata inside a struct, and a table's alias are not a change") {
    val store = new Store
    def inside(marked: Boolean) = StructType(Seq(StructField(
      "t",
      TimestampType,
      nullable = !marked,
      if (marked) new MetadataBuilder().putLong("spark.watermarkDelayMs", 5L).build() else Metadata.empty)))
    val (before, after) = (AttributeReference("s", inside(true))(), AttributeReference("S", inside(false))())
    def reopened(columns: HeldColumns) = new HeldRows(store, columns, 0L)
    val row = UnsafeProjection.create(Array[DataType](TimestampType, StringType, inside(true)))
    val held = reopened(columnsOf(time, Seq("text"), Seq(time, text, before)))
    held.hold(5L, row(InternalRow(5L, UTF8String.fromString("a"), InternalRow(7L))))
    held.finish()
    val more = AttributeReference("more", LongType)()
    val restarted = new HeldRows(store, columnsOf(time, Seq("TEXT"), Seq(after, text, time, more)), 5L)
    assert(restarted.due().map(_.getStruct(0, 1).getLong(0)).toSeq === Seq(7L))
  }

  private def assertChanged(now: HeldColumns, reason: String): Unit = {
    val store = new Store
    batch(store, 0L, Seq(5L -> "a"))
    assertRefused("ORDER_STATE_CHANGED", "reason" -> reason)(new HeldRows(store, now, 0L))
  }

  test("held rows refuse another time, another by, and another type") {
    val number = AttributeReference("text", LongType)()
    val other = AttributeReference("other", TimestampType)()
    assertChanged(
      columnsOf(other, Seq("text"), Seq(other, text, time)),
      "they were ordered by 'time', not by 'other'")
    assertChanged(columnsOf(time, Nil, Seq(time, text)), "they were grouped by 'text', not by nothing")
    assertChanged(
      columnsOf(time, Seq("text"), Seq(time, number)),
      "the column 'text' was of type string, and is now of type bigint")
  }

  test("of an expression upper and lower case count in its literals alone") {
    val at = "get_json_object(text, '$.Id')"
    def now(by: String) = columnsOf(time, Seq(by), Seq(time, text))
    def changed(by: String) = Try(now(by).from(now(at).text)).isFailure
    assert(!changed("GET_JSON_OBJECT(Text, '$.Id')"))
    assert(changed("get_json_object(text, '$.id')"))
    val quoted = raw"concat(text, 'It\'s', 'B')"
    assert(Try(now(quoted).from(now(raw"CONCAT(text, 'It\'s', 'B')").text)).isSuccess)
    assert(Try(now(quoted).from(now(raw"concat(text, 'It\'s', 'b')").text)).isFailure)
  }

  test("held rows refuse a by that reads its text by another schema") {
    def now(types: String) = columnsOf(time, Seq("from_csv(text).b"), Seq(time, text), types = types)
    val reason =
      "what they were grouped by, 'from_csv(text).b', is of other types, or reads its text by another schema"
    assertRefused("ORDER_STATE_CHANGED", "reason" -> reason) {
      now("struct<b:int,a:int>").from(now("struct<a:int,b:int>").text)
    }
    now("struct<a:int,b:int>").from(now("struct<a:int,b:int>").text)
  }

  test("a value that could be null when it was held is read as one that cannot be only where that is known above") {
    def of(mayBeNull: Boolean, inside: Boolean) = AttributeReference("more", ArrayType(LongType, inside), mayBeNull)()
    def change(before: Attribute, after: Option[Attribute], isAdded: Boolean): Option[String] =
      Try(columnsOf(time, Nil, Seq(time) ++ after, isAdded = isAdded)
        .from(columnsOf(
          time,
          Nil,
          Seq(time, before)).text)).failed.toOption.map(refusalIn(_).error.parameters("reason"))
    val (free, strict) = (of(mayBeNull = true, inside = true), of(mayBeNull = false, inside = false))
    for (isAdded <- Seq(false, true)) {
      assert(change(strict, Some(free), isAdded).isEmpty)
      assert(change(free, Some(of(mayBeNull = true, inside = false)), isAdded) ===
        Some("the column 'more', or a value in it, could be null, and no longer can"))
      assert(change(free, Some(of(mayBeNull = false, inside = true)), isAdded).nonEmpty === isAdded)
      val another = strict.withName("another")
      assert(change(free, Some(another), isAdded) ===
        Option.when(isAdded)("the column 'another' is new and cannot be null"))
    }
  }

  test("columns of the same name are told apart, and metadata does not count") {
    val marked = time.withMetadata(new MetadataBuilder().putLong("spark.watermarkDelayMs", 5L).build())
    val namesake = AttributeReference("text", StringType, nullable = false)()
    val twice = columnsOf(marked, Nil, Seq(marked, text, namesake))
    // The first column is no longer read.
    val second = columnsOf(marked, Nil, Seq(marked, namesake), Seq(text, namesake))
    assert(second.columns.fieldNames === Array("time", "text 2"))
    assert(twice.columns.fieldNames === Array("time", "text", "text 2"))
    assert(twice.text === columnsOf(time, Nil, Seq(time, text, namesake.newInstance())).text)
  }
}
