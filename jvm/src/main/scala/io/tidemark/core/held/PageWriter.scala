package io.tidemark.core.held

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

/** Collects rows in one page. Each row is its event time (8 bytes), its length (4 bytes), and its bytes.
  *
  * Rows come in the order of their times. The caller writes each row's bytes itself, at the place that [[add]] returns.
  */
final class PageWriter {
  private var buffer = new Array[Byte](PageWriter.Initial)
  private var view = PageWriter.over(buffer)
  private var length = 0
  private var count = 0L
  private var first = 0L
  private var last = 0L

  def size: Int = length
  def isEmpty: Boolean = count == 0L

  /** The array to write to; another one after each [[add]]. */
  def array: Array[Byte] = buffer

  /** Adds a row, and returns where in [[array]] its bytes go. */
  def add(timeMicros: Long, rowBytes: Int): Int = {
    val at = length
    val end = at + PageWriter.Header + rowBytes
    if (end < 0) throw new OutOfMemoryError(s"a row of $rowBytes bytes does not fit into a page")
    if (end > buffer.length) {
      buffer = Arrays.copyOf(buffer, math.max(end, math.min(buffer.length * 2L, PageWriter.Most).toInt))
      view = PageWriter.over(buffer)
    }
    view.putLong(at, timeMicros)
    view.putInt(at + 8, rowBytes)
    if (count == 0L) first = timeMicros
    last = timeMicros
    count += 1
    length = end
    at + PageWriter.Header
  }

  def info(id: Long): PageInfo = PageInfo(id, first, last, count, length)

  /** The page; this writer is empty afterwards. */
  def take(): Array[Byte] = {
    val page = Arrays.copyOf(buffer, length)
    length = 0
    count = 0L
    page
  }
}

object PageWriter {
  private[held] val Header = 12
  private val Initial = 8 * 1024
  private val Most = Int.MaxValue - 8L

  private[held] def over(bytes: Array[Byte]): ByteBuffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
}
