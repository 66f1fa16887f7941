package io.tidemark.core.format

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.zip.CRC32C

import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}

/** The layout of all of Tidemark's files in a checkpoint:
  *
  * {{{ "TIDEMARK"  version  section*  0  crc32c section  =  tag  length  payload }}} Numbers are varints, signed ones
  * zigzag; the checksum (4 bytes, big endian) covers all bytes before it. A reader skips sections with a tag of
  * [[FirstOptionalTag]] or above, and refuses any other tag that it does not know. So a later version can add what
  * older ones may ignore.
  */
object SectionFormat {

  /** The version of files that the first version of Tidemark can read. */
  val First: Int = 1

  /** The newest version: that of entries with writers of a mark log. */
  val Version: Int = 2

  val FirstOptionalTag: Int = 64

  /** A later format version wrote the file. */
  final class Newer(val version: Int) extends RuntimeException(s"format version $version")

  private val Magic = "TIDEMARK".getBytes(US_ASCII)
  private val ChecksumBytes = 4
  private val End = 0

  private[core] def write(sections: (Int, ByteWriter => Unit)*): Array[Byte] = writeVersion(First, sections)

  private[core] def writeVersion(version: Int, sections: Seq[(Int, ByteWriter => Unit)]): Array[Byte] = {
    val out = new ByteWriter
    out.raw(Magic)
    out.unsigned(version.toLong)
    sections.foreach { case (tag, payload) =>
      val body = new ByteWriter
      payload(body)
      out.unsigned(tag.toLong)
      out.unsigned(body.size.toLong)
      out.raw(body)
    }
    out.unsigned(End.toLong)
    out.int(out.crc32c)
    out.bytes
  }

  /** Passes each section to the reader of its tag.
    * @throws Damaged if the bytes are not exactly what [[write]] wrote
    * @throws SectionFormat.Newer if a later format version wrote them
    */
  private[core] def read(bytes: Array[Byte])(known: PartialFunction[Int, ByteReader => Unit]): Unit = {
    if (bytes.length < Magic.length || !java.util.Arrays.equals(bytes.take(Magic.length), Magic))
      throw new Damaged("it does not begin like an entry")
    val in = new ByteReader(bytes, Magic.length, bytes.length)
    val version = in.unsigned().toInt
    // The version comes first, because a later version may have another checksum.
    if (version > Version) throw new Newer(version)
    if (version < 1) throw new Damaged(s"there is no format version $version")
    val end = bytes.length - ChecksumBytes
    if (end < in.position) throw new Damaged("it is cut off")
    if (checksumOf(bytes) != checksum(bytes.take(end))) throw new Damaged("its checksum does not match")
    val sections = new ByteReader(bytes, in.position, end)
    var tag = sections.unsigned().toInt
    while (tag != End) {
      val body = sections.slice(sections.unsigned().toInt)
      if (known.isDefinedAt(tag)) known(tag)(body)
      else if (tag < FirstOptionalTag)
        throw new Damaged(s"it has a section $tag that format version $version does not have")
      tag = sections.unsigned().toInt
    }
  }

  /** The checksum at the end of a file. Other files refer to it by this number. */
  def checksumOf(bytes: Array[Byte]): Int = new ByteReader(bytes, bytes.length - ChecksumBytes, bytes.length).int()

  private def checksum(bytes: Array[Byte]): Int = {
    val crc = new CRC32C
    crc.update(bytes)
    crc.getValue.toInt
  }
}
