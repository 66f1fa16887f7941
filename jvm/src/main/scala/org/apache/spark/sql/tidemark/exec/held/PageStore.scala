package org.apache.spark.sql.tidemark.exec.held

import java.nio.charset.StandardCharsets.UTF_8

import io.tidemark.core.held.HeldPages

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}

/** Where held rows are kept: a page under each number from 0 on, the list of pages, and what the rows' columns are.
  *
  * Pages instead of one entry a row, because that needs some hundred times fewer operations of the store, no scan, and
  * works the same on every store.
  */
private[tidemark] abstract class PageStore {
  import PageStore._

  protected def get(id: Long): Option[Array[Byte]]
  def put(id: Long, bytes: Array[Byte]): Unit
  def remove(id: Long): Unit

  final def page(id: Long): Array[Byte] =
    get(id).getOrElse(throw new IllegalStateException(s"page $id of held rows is not in the state store"))

  final def pages: HeldPages = get(ListKey).fold(HeldPages.empty)(HeldPages.decode)
  final def pages_=(all: HeldPages): Unit = put(ListKey, all.encoded)

  /** The columns of the rows in all pages; `None` before the first page. */
  final def columns: Option[String] = get(ColumnsKey).map(new String(_, UTF_8))
  final def columns_=(text: String): Unit = put(ColumnsKey, text.getBytes(UTF_8))
}

private[tidemark] object PageStore {
  val KeySchema: StructType = StructType(Seq(StructField("page", LongType, nullable = false)))
  val ValueSchema: StructType = StructType(Seq(StructField("bytes", BinaryType, nullable = false)))

  private val ListKey = -1L
  private val ColumnsKey = -2L

  def of(store: StateStore): PageStore = new PageStore {
    private val key = UnsafeProjection.create(KeySchema)
    private val value = UnsafeProjection.create(ValueSchema)

    override protected def get(id: Long): Option[Array[Byte]] = Option(store.get(keyOf(id))).map(_.getBinary(0))
    override def put(id: Long, bytes: Array[Byte]): Unit = store.put(keyOf(id), value(InternalRow(bytes)))
    override def remove(id: Long): Unit = store.remove(keyOf(id))
    private def keyOf(id: Long): UnsafeRow = key(InternalRow(id))
  }
}
