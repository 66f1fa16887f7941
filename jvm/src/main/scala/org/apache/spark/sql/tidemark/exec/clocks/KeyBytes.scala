package org.apache.spark.sql.tidemark.exec.clocks

import io.tidemark.core.bytes.KeyedHash

import org.apache.spark.unsafe.Platform.{getByte, getInt, getLong, putByte, putInt, putLong}

/** Hashes, compares and copies the bytes of a key, a word at a time. Keys are short, so a call of the JVM's routines
  * for long arrays would cost more than the work itself.
  *
  * The last word of a key overlaps the one before it, so that nothing beyond the key's end is read or written.
  */
private[tidemark] object KeyBytes {
  private final val Word = 8
  private final val Half = 4

  /** Equal for equal bytes within one process: it depends on the process's key and on the machine's byte order. */
  def hash(base: AnyRef, at: Long, size: Int): Int = {
    val hash = new KeyedHash
    if (size >= Word) {
      val last = at + size - Word
      var word = at
      while (word < last) {
        hash.add(getLong(base, word))
        word += Word
      }
      hash.add(getLong(base, last))
    } else if (size >= Half) {
      hash.add(getInt(base, at).toLong << 32 | getInt(base, at + size - Half) & 0xffffffffL)
    } else {
      var byte = 0
      while (byte < size) {
        hash.add(getByte(base, at + byte).toLong)
        byte += 1
      }
    }
    hash.add(size.toLong)
    hash.result().toInt
  }

  def same(base: AnyRef, at: Long, otherBase: AnyRef, otherAt: Long, size: Int): Boolean = {
    var equal = true
    if (size >= Word) {
      val last = size - Word
      var word = 0
      while (word < last && equal) {
        equal = getLong(base, at + word) == getLong(otherBase, otherAt + word)
        word += Word
      }
      equal && getLong(base, at + last) == getLong(otherBase, otherAt + last)
    } else if (size >= Half) {
      val last = size - Half
      getInt(base, at) == getInt(otherBase, otherAt) && getInt(base, at + last) == getInt(otherBase, otherAt + last)
    } else {
      var byte = 0
      while (byte < size && equal) {
        equal = getByte(base, at + byte) == getByte(otherBase, otherAt + byte)
        byte += 1
      }
      equal
    }
  }

  def copy(base: AnyRef, at: Long, toBase: AnyRef, toAt: Long, size: Int): Unit =
    if (size >= Word) {
      val last = size - Word
      var word = 0
      while (word < last) {
        putLong(toBase, toAt + word, getLong(base, at + word))
        word += Word
      }
      putLong(toBase, toAt + last, getLong(base, at + last))
    } else if (size >= Half) {
      val last = size - Half
      putInt(toBase, toAt, getInt(base, at))
      putInt(toBase, toAt + last, getInt(base, at + last))
    } else {
      var byte = 0
      while (byte < size) {
        putByte(toBase, toAt + byte, getByte(base, at + byte))
        byte += 1
      }
    }
}
