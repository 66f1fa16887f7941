package io.tidemark.core.splits

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class SplitNameTableSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val text = Gen.oneOf(Arbitrary.arbitrary[String], Gen.oneOf("", "null", "a\nb", "../etc", "\"", "⏰"))
  private val name = Gen.choose(0, 3).flatMap(Gen.listOfN(_, Gen.option(text)))

  // A lone surrogate is not text, and changes when it is encoded as text.
  private def isText(name: Seq[Option[String]]) =
    name.flatten.forall(t => new String(t.getBytes("UTF-8"), "UTF-8") == t)

  private def copied[A](value: A): A = {
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(value)
    new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[A]
  }

  test("split names are numbered in the order in which they arrive and are found by their values") {
    forAll(Gen.listOf(name.suchThat(isText))) { all =>
      val names = new SplitNameTable
      val numbers = all.map(splitName => names.add(SplitNameTable.encode(splitName)))
      assert(numbers == all.map(all.distinct.indexOf(_)))
      assert((0 until names.size).map(names(_)) == all.distinct)
      all.foreach(splitName => assert(names.find(SplitNameTable.encode(splitName)) == all.distinct.indexOf(splitName)))
    }
  }

  test("split names that look alike are different splits") {
    val alike = Seq(
      Nil,
      Seq(None),
      Seq(Some("")),
      Seq(Some("null")),
      Seq(Some("a"), Some("b")),
      Seq(Some("ab")),
      Seq(Some("a,b")),
      Seq(None, Some("ab")),
      Seq(Some("ab"), None))
    val names = new SplitNameTable
    assert(alike.map(splitName => names.add(SplitNameTable.encode(splitName))) == alike.indices)
  }

  test("a missing split name is not found, even among many names") {
    val names = new SplitNameTable
    for (number <- 0 until 100000) assert(names.add(SplitNameTable.encode(Seq(Some(s"device-$number")))) == number)
    assert(names.find(SplitNameTable.encode(Seq(Some("device-100000")))) == -1)
    assert(names.find(SplitNameTable.encode(Seq(Some("device-99999")))) == 99999)
  }

  test("a split name of 10 MB is stored") {
    val long = Seq(Some("x" * 10000000))
    val names = new SplitNameTable
    names.add(SplitNameTable.encode(long))
    names.add(SplitNameTable.encode(Seq(Some("y"))))
    assert(names(0) == long && names(1) == Seq(Some("y")))
  }

  test("split names beyond the byte limit are refused, and earlier names stay") {
    val names = new SplitNameTable(most = 12)
    def encode(text: String) = SplitNameTable.encode(Seq(Some(text)))
    names.add(encode("abcd"))
    names.addNew(encode("efgh"), 0, 5)
    for (full <- Seq(names, names.copy())) {
      intercept[SplitNameTable.TooLong](full.add(encode("ij")))
      intercept[SplitNameTable.TooLong](full.addNew(encode("ij"), 0, 3))
      assert(full.add(encode("i")) === 2)
      assert((0 until full.size).map(full(_).head) === Seq(Some("abcd"), Some("efgh"), Some("i")))
    }
  }

  test("a copied or deserialized table changes independently of the original") {
    val names = new SplitNameTable
    names.add(SplitNameTable.encode(Seq(Some("a"))))
    for (same <- Seq(names.copy(), copied(names))) {
      assert(same.add(SplitNameTable.encode(Seq(Some("b")))) == 1)
      assert(same.find(SplitNameTable.encode(Seq(Some("a")))) == 0)
    }
    assert(names.size == 1)
  }

  test("the largest time of each split is kept, also before 1970, and merging the times twice changes nothing") {
    val times = new MaxEventTimes
    val (a, b) = (SplitNameTable.encode(Seq(Some("a"))), SplitNameTable.encode(Seq(None)))
    times.observe(a, -50)
    times.observe(b, 7)
    times.observe(a, -20)
    times.observe(b, 3)
    val all = new MaxEventTimes
    all.merge(copied(times), Int.MaxValue)
    all.merge(times.copy(), Int.MaxValue)
    assert((0 until all.size).map(number => all.names(number) -> all(number)) ==
      Seq(Seq(Some("a")) -> -20L, Seq(None) -> 7L))
    assert(all.max.contains(7L))
  }

  test("a merge stops at the first split beyond the requested number") {
    val (many, few) = (new MaxEventTimes, new MaxEventTimes)
    for (number <- 1 to 10) many.observe(SplitNameTable.encode(Seq(Some(s"$number"))), number.toLong)
    few.merge(many, 3)
    assert(few.size == 4)
  }
}
