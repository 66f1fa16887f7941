package io.tidemark.core.bytes

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays
import java.util.zip.CRC32C

/** Writes numbers as varints (7 bits a byte, lowest first), signed ones zigzag.
  *
  * @param most the largest number of bytes; more is refused as [[ByteWriter.TooLong]]
  */
final class ByteWriter(most: Int = ByteWriter.Most) {
  private var data = new Array[Byte](64)
  private var length = 0

  def size: Int = length
  def bytes: Array[Byte] = Arrays.copyOf(data, length)

  /** The array that holds the bytes, until more are written. */
  def buffer: Array[Byte] = data

  def clear(): Unit = length = 0

  /** Leaves room for bytes that the caller writes into [[buffer]].
    * @return where they begin
    */
  def skip(bytes: Int): Int = {
    grow(bytes)
    length += bytes
    length - bytes
  }

  /** The checksum of all bytes so far. */
  def crc32c: Int = {
    val crc = new CRC32C
    crc.update(data, 0, length)
    crc.getValue.toInt
  }

  def raw(more: Array[Byte]): Unit = raw(more, 0, more.length)
  def raw(more: ByteWriter): Unit = raw(more.data, 0, more.length)
  def int(value: Int): Unit = (24 to 0 by -8).foreach(shift => byte(value >>> shift))

  def raw(more: Array[Byte], from: Int, until: Int): Unit = {
    grow(until - from)
    System.arraycopy(more, from, data, length, until - from)
    length += until - from
  }

  def unsigned(value: Long): Unit = {
    var rest = value
    while ((rest & ~0x7fL) != 0) {
      byte(((rest & 0x7f) | 0x80).toInt)
      rest >>>= 7
    }
    byte(rest.toInt)
  }

  private def byte(value: Int): Unit = {
    if (length == data.length) grow(1)
    data(length) = value.toByte
    length += 1
  }

  private def grow(more: Int): Unit =
    if (more > data.length - length) {
      val needed = length.toLong + more
      if (needed > most) throw new ByteWriter.TooLong
      data = Arrays.copyOf(data, math.min(math.max(needed, data.length * 2L), most.toLong).toInt)
    }

  def signed(value: Long): Unit = unsigned((value << 1) ^ (value >> 63))

  def text(value: String): Unit = {
    val data = value.getBytes(UTF_8)
    unsigned(data.length.toLong)
    raw(data)
  }

  def option(value: Option[Long]): Unit = value match {
    case Some(number) => unsigned(1); signed(number)
    case None => unsigned(0)
  }

  def seq[A](all: Seq[A])(write: A => Unit): Unit = {
    unsigned(all.size.toLong)
    all.foreach(write)
  }
}

object ByteWriter {

  /** The largest size of an array. */
  val Most: Int = Int.MaxValue - 8

  final class TooLong extends RuntimeException("more bytes than an array can hold")
}
