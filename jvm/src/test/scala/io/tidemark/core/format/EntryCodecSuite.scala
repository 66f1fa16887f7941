package io.tidemark.core.format

import java.util.zip.CRC32C

import scala.util.{Failure, Success, Try}

import io.tidemark.core.bytes.{ByteWriter, Damaged}
import io.tidemark.core.format.SectionFormat.Newer
import io.tidemark.core.memory.ReasonText
import io.tidemark.core.support.{Entries, WholeEntry}

import WholeEntry.{decode, encode}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class EntryCodecSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200)

  private val small = encode(Entries.small)
  private def hex(bytes: Array[Byte]) = bytes.map("%02x".format(_)).mkString
  private def bytesOf(hex: String) = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  test("an entry is read back as it was written") {
    forAll(Entries.any)(entry => assert(decode(encode(entry)) == entry))
  }

  // Format version 1, as it stands in checkpoints. If this test fails, old checkpoints can no longer be read: raise
  // SectionFormat.Version, keep reading version 1, and leave these bytes alone.
  private val golden = Seq(
    "544944454d41524b" + "01", // TIDEMARK, version 1
    "01" + "0d" + "0a" + "80a0abfef962" + "e8a7abfef962", // batch 5, when it began and ended
    "02" + "27", // what the batch worked with: two origins, a union, a carried column, no join side
    "02" + "066f7264657273" + "00" + "02" + "8081e2fdf962" + "087061796d656e7473" + "01" + "00",
    "01" + "00" + "01" + "02" + "01",
    "01" + "02" + "01" + "00" + "01" + "00" + "00",
    "03" + "43", // origins: one split by a and b, with a split whose second text is null, and that has no clock yet
    "02" + "066f7264657273" + "00" + "02" + "c0aae9fdf962" + "01" + "c0c9b2fef962" + "01" + "e083aafef962" + "01" +
      "03",
    "02" + "0161" + "0162" + "01" + "03" + "026100" + "00" + "00" + "e083aafef962",
    "087061796d656e7473" + "01" + "00" + "00" + "00" + "00" + "00" + "00" + "00",
    "04" + "06" + "01" + "00" + "01" + "02" + "d804", // unions
    "05" + "06" + "01" + "02" + "01" + "00" + "02" + "00", // carried columns
    "06" + "13" + "01" + "02" + "01" + "e807", // ledgers
    "02" + "a01f" + "02" + "01" + "0d" + "00" + "f02e" + "02" + "00" + "01" + "8001",
    "07" + "01" + "00", // join sides
    "00" + "c9b62144"
  ) // end, checksum

  test("the bytes of format version 1 do not change") {
    assert(hex(small) == golden.mkString)
    assert(decode(bytesOf(golden.mkString)) == Entries.small)
  }

  test("the bytes of a reason do not change, so that every version reads them") {
    val reason = ReasonText("FLOWING", "s", Some("f"), None, isTrouble = true)
    val bytes = Seq(
      "44" + "0f", // section 68, 15 bytes
      "07" + "464c4f57494e47", // FLOWING
      "01" + "73", // the sentence
      "01" + "01" + "66", // what can be done
      "00", // no input that holds results back
      "01" + "00"
    ) // something is wrong; the end of the sections
    assert(hex(encode(Entries.small.copy(reason = Some(reason)))).contains(bytes.mkString))
  }

  test("every change of a single byte is detected") {
    for (index <- small.indices; change <- 1 to 255) {
      val bytes = small.clone()
      bytes(index) = (bytes(index) ^ change).toByte
      refused(bytes, s"byte $index changed by $change")
    }
  }

  test("every cut is detected, down to the empty file") {
    small.indices.foreach(length => refused(small.take(length), s"cut to $length bytes"))
  }

  test("extra bytes after an entry are detected") {
    Seq(Array[Byte](0), small, small.take(40)).foreach(more => refused(small ++ more, s"${more.length} more bytes"))
  }

  test("an empty file and an unrelated file are not read as entries") {
    for (text <- Seq("", "v1", "{\"batchWatermarkMs\":0}", "TIDEMARX and more"))
      assert(intercept[Damaged](decode(text.getBytes)).why == "it does not begin like an entry")
  }

  test("the error for a cut entry names the cut, and the error for a changed entry names the checksum") {
    assert(intercept[Damaged](decode(small.take(8))).why == "it is cut off")
    assert(intercept[Damaged](decode(small.take(12))).why == "it is cut off")
    assert(intercept[Damaged](decode(small.updated(20, 99.toByte))).why == "its checksum does not match")
  }

  test("a newer format version is distinguished from damage, whatever bytes follow") {
    for (version <- Seq(SectionFormat.Version + 1, 127, 128, 70000)) {
      val out = new ByteWriter
      out.raw("TIDEMARK".getBytes)
      out.unsigned(version.toLong)
      assert(intercept[Newer](decode(out.bytes ++ Array[Byte](1, 2, 3))).version == version)
    }
  }

  test("format version 0 is refused") {
    assert(intercept[Damaged](decode(sealing("TIDEMARK".getBytes :+ 0.toByte, end = true))).why.contains("version 0"))
  }

  test("an unknown section that is optional is skipped") {
    for (tag <- Seq(SectionFormat.FirstOptionalTag + 5, 5000))
      assert(decode(withSection(tag, Array.fill[Byte](300)(0x7f))) == Entries.small)
  }

  test("an unknown section that is required is refused") {
    for (tag <- Seq(11, SectionFormat.FirstOptionalTag - 1)) {
      val why = intercept[Damaged](decode(withSection(tag, Array[Byte](1)))).why
      assert(why == s"it has a section $tag that format version 1 does not have")
    }
  }

  test("a section that is longer than the file is refused") {
    val bytes = sealing(small.dropRight(5) ++ Array[Byte](64, 100, 1), end = false)
    assert(intercept[Damaged](decode(bytes)).why == "it is cut off")
  }

  test("a count that is too large for any file is refused before memory is allocated for it") {
    val unions = new ByteWriter
    unions.unsigned(Long.MaxValue)
    assert(intercept[Damaged](decode(withSection(4, unions.bytes))).why == "it has a count that is too large")
  }

  test("a number with too many bytes is refused") {
    val why = intercept[Damaged](decode(withSection(4, Array.fill[Byte](12)(-1)))).why
    assert(why == "it has a number that is too long")
  }

  test("an entry without its batch number is refused") {
    val header = small.take(9)
    assert(intercept[Damaged](decode(sealing(header, end = true))).why == "it does not name its batch")
  }

  /** The small entry with one more section before its end. */
  private def withSection(tag: Int, payload: Array[Byte]): Array[Byte] = {
    val out = new ByteWriter
    out.unsigned(tag.toLong)
    out.unsigned(payload.length.toLong)
    out.raw(payload)
    sealing(small.dropRight(5) ++ out.bytes, end = true)
  }

  private def sealing(body: Array[Byte], end: Boolean): Array[Byte] = {
    val all = if (end) body :+ 0.toByte else body
    val crc = new CRC32C
    crc.update(all)
    val out = new ByteWriter
    out.raw(all)
    out.int(crc.getValue.toInt)
    out.bytes
  }

  private def refused(bytes: Array[Byte], what: String): Unit = Try(decode(bytes)) match {
    case Failure(_: Damaged) | Failure(_: Newer) =>
    case Failure(other) => fail(s"$what: not said as damage", other)
    case Success(entry) => fail(s"$what: not detected, read as $entry")
  }
}
