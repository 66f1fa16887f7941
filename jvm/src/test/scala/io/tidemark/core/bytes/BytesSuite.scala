package io.tidemark.core.bytes

import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class BytesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def roundTrip[A](write: ByteWriter => Unit)(read: ByteReader => A): A = {
    val out = new ByteWriter
    write(out)
    val in = new ByteReader(out.bytes, 0, out.bytes.length)
    val value = read(in)
    assert(in.position == out.bytes.length)
    value
  }

  test("every number is read back as it was written") {
    forAll { (number: Long, whole: Int) =>
      assert(roundTrip(_.signed(number))(_.signed()) == number)
      assert(roundTrip(_.unsigned(number))(_.unsigned()) == number)
      assert(roundTrip(_.int(whole))(_.int()) == whole)
    }
  }

  test("the smallest and largest numbers are read back as they were written") {
    for (number <- Seq(Long.MinValue, -1L, 0L, 1L, Long.MaxValue)) {
      assert(roundTrip(_.signed(number))(_.signed()) == number)
      assert(roundTrip(_.unsigned(number))(_.unsigned()) == number)
    }
  }

  test("a small number takes one byte") {
    for (number <- Seq(-64L, 0L, 63L)) {
      val out = new ByteWriter
      out.signed(number)
      assert(out.bytes.length == 1)
    }
  }

  test("a write beyond the size limit is refused and keeps the earlier bytes") {
    val out = new ByteWriter(most = 100)
    out.raw(Array.fill[Byte](98)(7))
    intercept[ByteWriter.TooLong](out.raw(Array[Byte](1, 2, 3)))
    out.raw(Array[Byte](1, 2))
    intercept[ByteWriter.TooLong](out.unsigned(0L))
    assert(out.bytes.toSeq === Seq.fill(98)(7) ++ Seq(1, 2))
  }

  test("texts, options and sequences are read back as they were written") {
    assert(roundTrip(_.text("a 时间"))(_.text()) == "a 时间")
    forAll { (option: Option[Long], all: Vector[Long]) =>
      assert(roundTrip(_.option(option))(_.option()) == option)
      assert(roundTrip(w => w.seq(all)(w.signed))(r => r.seq(r.signed())) == all)
    }
  }

  test("a reader does not read past its slice") {
    val in = new ByteReader(Array[Byte](2, 4, 6), 0, 3)
    val slice = in.slice(1)
    assert(slice.signed() == 1)
    assert(intercept[Damaged](slice.signed()).why == "it is cut off")
    assert(in.signed() == 2)
    assert(intercept[Damaged](in.slice(2)).why == "it is cut off")
    assert(intercept[Damaged](in.slice(-1)).why == "it is cut off")
  }
}
