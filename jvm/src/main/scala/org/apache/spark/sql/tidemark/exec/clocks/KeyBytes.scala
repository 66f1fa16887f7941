package org.apache.spark.sql.tidemark.exec.clocks

import java.nio.ByteOrder

import org.apache.spark.unsafe.Platform.{getByte, getInt, getLong, putLong, BYTE_ARRAY_OFFSET, LONG_ARRAY_OFFSET}

/** The bytes of a key as words. Words are hashed and compared faster than bytes, and keys are short, so a call of the
  * JVM's routines for long arrays would cost more than the work itself.
  *
  * The last word of a key overlaps the one before it, so that nothing beyond the key's end is read.
  */
private[tidemark] object KeyBytes {
  private final val Word = 8
  private final val Half = 4

  /** A key of so many bytes is two words: its bytes, and its size in the upper byte of the second word. */
  final val MostShort = 2 * Word - 1

  private val isLittleEndian = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN

  /** The first eight bytes of a short key, filled up with zeros. */
  def first(base: AnyRef, at: Long, size: Int): Long =
    if (size >= Word) littleEndian(getLong(base, at))
    else if (size >= Half) {
      val last = littleEndian(getInt(base, at + size - Half)) >>> 8 * (Word - size)
      littleEndian(getInt(base, at)) | last << 32
    } else {
      var all = 0L
      var byte = 0
      while (byte < size) {
        all |= (getByte(base, at + byte) & 0xffL) << 8 * byte
        byte += 1
      }
      all
    }

  /** The other bytes of a short key, and its size. */
  def second(base: AnyRef, at: Long, size: Int): Long =
    (if (size > Word) lastWord(base, at, size) else 0L) | size.toLong << 56

  /** The bytes after the last whole word but one, filled up with zeros. */
  private def lastWord(base: AnyRef, at: Long, size: Int): Long =
    littleEndian(getLong(base, at + size - Word)) >>> 8 * (-size & Word - 1)

  /** Writes the bytes of a short key to an array that has room for two words.
    * @return the key's size
    */
  def write(first: Long, second: Long, to: Array[Byte]): Int = {
    putLong(to, BYTE_ARRAY_OFFSET.toLong, littleEndian(first))
    putLong(to, BYTE_ARRAY_OFFSET.toLong + Word, littleEndian(second))
    (second >>> 56).toInt
  }

  /** How many words a key of any size takes, with its size. */
  def words(size: Int): Int = 1 + (size >>> 3) + (if ((size & Word - 1) == 0) 0 else 1)

  /** Writes the size of a key of any size, and its bytes in whole words. */
  def write(base: AnyRef, at: Long, size: Int, to: Array[Long], from: Int): Unit = {
    to(from) = size.toLong
    if (size < Word) { if (size > 0) to(from + 1) = littleEndian(first(base, at, size)) }
    else {
      val last = from + words(size) - 1
      var word = from + 1
      var address = at
      while (word < last) {
        to(word) = getLong(base, address)
        word += 1
        address += Word
      }
      to(last) = littleEndian(lastWord(base, at, size))
    }
  }

  /** Where the bytes of a key are that was written to a place of an array. */
  def address(key: Int): Long = LONG_ARRAY_OFFSET.toLong + (key + 1L) * Word

  def size(keys: Array[Long], key: Int): Int = keys(key).toInt

  // The same both ways: a little-endian word from a native one, and a native word from a little-endian one.
  private def littleEndian(word: Long): Long = if (isLittleEndian) word else java.lang.Long.reverseBytes(word)
  private def littleEndian(half: Int): Long = (if (isLittleEndian) half else Integer.reverseBytes(half)) & 0xffffffffL
}
