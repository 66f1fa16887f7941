package org.apache.spark.sql.tidemark

import org.apache.spark.unsafe.Platform.{getByte, getInt, getLong, putByte, putInt, putLong}

/** What is done with the bytes of a key, a word at a time. Keys are short, and a call of the runtime's own routines for
  * long ones costs more than they do.
  *
  * The last word of a key overlaps the one before it, so that nothing beyond its end is touched.
  */
private[tidemark] object KeyBytes {
  private final val Word = 8
  private final val Half = 4
  // 2^64 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4).
  private final val Multiplier = 0x9e3779b97f4a7c15L

  /** Equal for equal bytes, in one process: it depends on the order of bytes of the machine. */
  def hash(base: AnyRef, at: Long, size: Int): Int = {
    var hash = size.toLong
    if (size >= Word) {
      val last = at + size - Word
      var word = at
      while (word < last) {
        hash = mix(hash, getLong(base, word))
        word += Word
      }
      hash = mix(hash, getLong(base, last))
    } else if (size >= Half) {
      hash = mix(hash, getInt(base, at))
      hash = mix(hash, getInt(base, at + size - Half))
    } else {
      var byte = 0
      while (byte < size) {
        hash = mix(hash, getByte(base, at + byte))
        byte += 1
      }
    }
    hash.toInt
  }

  // Both halves of the product: the lower one says nothing of a word's upper bytes, where the last letters are.
  private def mix(hash: Long, word: Long): Long = {
    val known = hash ^ word
    Math.multiplyHigh(known, Multiplier) ^ known * Multiplier
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
