package io.tidemark.core.bytes

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** Reads what [[ByteWriter]] wrote between `position` and `end`; never past it. */
private[core] final class ByteReader(data: Array[Byte], private var at: Int, end: Int) {

  def position: Int = at

  private def next(): Int = {
    if (at >= end) throw new Damaged("it is cut off")
    at += 1
    data(at - 1) & 0xff
  }

  def int(): Int = (0 until 4).foldLeft(0)((all, _) => (all << 8) | next())

  def unsigned(): Long = {
    var value = 0L
    var shift = 0
    var byte = next()
    while ((byte & 0x80) != 0) {
      if (shift > 56) throw new Damaged("it has a number that is too long")
      value |= (byte & 0x7fL) << shift
      shift += 7
      byte = next()
    }
    value | (byte.toLong << shift)
  }

  def signed(): Long = {
    val value = unsigned()
    (value >>> 1) ^ -(value & 1)
  }

  def slice(length: Int): ByteReader = {
    if (length < 0 || length > end - at) throw new Damaged("it is cut off")
    at += length
    new ByteReader(data, at - length, at)
  }

  def text(): String = slice(unsigned().toInt).rest()

  /** The remaining bytes, as text. */
  def rest(): String = new String(data, at, end - at, UTF_8)

  /** The remaining bytes. */
  def restRaw(): Array[Byte] = Arrays.copyOfRange(data, at, end)

  def option(): Option[Long] = if (unsigned() == 0L) None else Some(signed())

  def seq[A](read: => A): Seq[A] = Vector.fill(count())(read)

  /** The number of elements that follow. Each takes at least a byte, so a larger count is damage, not a reason to
    * allocate.
    */
  def count(): Int = {
    val size = unsigned()
    if (size < 0 || size > end - at) throw new Damaged("it has a count that is too large")
    size.toInt
  }
}
