package org.apache.spark.sql.tidemark.exec.clocks

import java.util.Arrays

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** The bytes of one name at a time, in the form of `core.splits.SplitNameTable.encode`, without a new array for each. */
private[tidemark] final class NameBuffer {
  var bytes = new Array[Byte](64)
  var length = 0

  def clear(): Unit = length = 0
  def addNull(): Unit = unsigned(0)

  def add(text: UTF8String): Unit = {
    val size = text.numBytes
    unsigned(size + 1)
    room(size)
    text.writeToMemory(bytes, (Platform.BYTE_ARRAY_OFFSET + length).toLong)
    length += size
  }

  private def unsigned(value: Int): Unit = {
    room(5)
    var rest = value
    while ((rest & ~0x7f) != 0) {
      bytes(length) = ((rest & 0x7f) | 0x80).toByte
      length += 1
      rest >>>= 7
    }
    bytes(length) = rest.toByte
    length += 1
  }

  private def room(more: Int): Unit =
    if (length + more > bytes.length) bytes = Arrays.copyOf(bytes, Math.addExact(length, more) / 2 * 3 + 8)
}
