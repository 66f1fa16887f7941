package org.apache.spark.sql.tidemark.exec.clocks

import io.tidemark.core.bytes.ByteWriter

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** The bytes of one name at a time, in the form of `core.splits.SplitNameTable.encode`, without a new array for each. */
private[tidemark] final class NameBuffer {
  private val writer = new ByteWriter

  /** The first [[length]] bytes are the name's. */
  def bytes: Array[Byte] = writer.buffer
  def length: Int = writer.size

  def clear(): Unit = writer.clear()
  def addNull(): Unit = writer.unsigned(0)

  def add(text: UTF8String): Unit = {
    writer.unsigned(text.numBytes + 1L)
    val position = writer.skip(text.numBytes)
    text.writeToMemory(bytes, (Platform.BYTE_ARRAY_OFFSET + position).toLong)
  }
}
