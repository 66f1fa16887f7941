package io.tidemark.core.held

import java.util.Arrays

import io.tidemark.core.bytes.Damaged

/** Reads the rows of a page that [[PageWriter]] has made, one after the other. */
final class PageReader(val bytes: Array[Byte]) {
  private val view = PageWriter.over(bytes)
  private var next = 0
  private var time = 0L
  private var at = 0
  private var size = 0

  def timeMicros: Long = time

  /** Where the row is in [[bytes]]. */
  def offset: Int = at
  def length: Int = size

  /** The page from this row on, as a page of its own. */
  def rest: Array[Byte] = Arrays.copyOfRange(bytes, at - PageWriter.Header, bytes.length)
  def restBytes: Int = bytes.length - at + PageWriter.Header

  /** Goes to the next row; false after the last one.
    *
    * @throws io.tidemark.core.bytes.Damaged if the page is cut off
    */
  def advance(): Boolean =
    if (next == bytes.length) false
    else {
      if (bytes.length - next < PageWriter.Header) throw new Damaged("it is cut off")
      time = view.getLong(next)
      size = view.getInt(next + 8)
      at = next + PageWriter.Header
      if (size < 0 || size > bytes.length - at) throw new Damaged("it is cut off")
      next = at + size
      true
    }
}
