package org.apache.spark.sql.tidemark.noted

import scala.util.Random

import io.tidemark.core.noted.{Mark, MarkId, Position}

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.MarkLines

/** A line in the usual form is read without a tree, and means the same as with one. */
class UsualMarkSuite extends AnyFunSuite {
  private val checksum = 9

  private def quickly(line: Array[Byte], file: MarkFileName): Option[Mark] =
    new UsualMark(file.writer, file.epoch).read(line, checksum, line.length - 1)

  test("marks of any shape are read as they were written, most of them quickly") {
    val random = new Random(7)
    val count = 2000
    val quick = Seq.fill(count)(anyMark(random)).count { mark =>
      val line = MarkText.line(mark)
      val file = MarkFileName.live(mark.writer, mark.epoch, 0)
      val found = quickly(line, file)
      assert(found.forall(_ === mark))
      // An unknown field makes it another form.
      val other = MarkLines.line(new String(line, checksum, line.length - checksum - 2, "UTF-8") +
        ""","x":1}""").getBytes("UTF-8")
      assert(quickly(other, file) === None)
      assert(new MarkText.Reader(file).mark(other, 0, other.length - 1) === mark)
      found.nonEmpty
    }
    assert(quick > count / 4)
  }

  test("any other form is left alone, also where a number is not as it should be") {
    val file = MarkFileName.live("w", 1, 0)
    def read(fields: String) = quickly(MarkLines.line(s"""{"v":1,"w":"w","e":1,$fields}""").getBytes, file)
    val position = """"p":{"kafka":{"t":{"0":5}}}"""
    assert(read(s""""n":0,"k":"note","t":7,"at":0,$position""").map(_.timeMillis) === Some(Some(7L)))
    val others = Seq(
      """"n":00,"k":"note","t":7,"at":0,"p":{"number":1}""",
      """"n":0,"k":"note","t":-0,"at":0,"p":{"number":1}""",
      """"n":0,"k":"note","t":1234567890123456789,"at":0,"p":{"number":1}""",
      """"n":0,"k":"note","t":7,"at":0""",
      """"n":0,"k":"note","at":0,"p":{"number":1}""",
      """"n":0,"k":"alive","t":7,"at":0""",
      """"n":0,"k":"other","t":7,"at":0""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"kafka":{"t":{"01":5}}}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"kafka":{"t":{"1234567890":5}}}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"kafka":{"t":{"0":-5}}}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"kafka":{"":{"0":5}}}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"kafka":{"t":{"0":5},}}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"sink":{"batch":-1}}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"files":["a"b"]}""",
      """"n":0,"k":"note","t":7.0,"at":0,"p":{"number":1}""",
      """"n":0,"k":"note","t":7,"at":0,"p":{"number":1}, """)
    for (fields <- others) assert(read(fields) === None, fields)
  }

  private def anyMark(random: Random): Mark = {
    def anyOf[A](all: A*): A = all(random.nextInt(all.size))
    def number(least: Long = 0) = anyOf(least, 0L, 7L, random.nextLong(1000000000000L), Long.MaxValue)
    val kind = anyOf(Mark.kinds: _*)
    val position = anyOf[Position](
      Position.Kafka(Map(anyOf("orders", "a.b-c_1", "ü") -> Map(random.nextInt().abs -> number(), 1 -> number()))),
      Position.Delta(anyOf("t", "a\"b"), number()),
      Position.SinkBatch(number()),
      Position.Files(Set(anyOf("a b.json", "x/y", "ü"), anyOf("q\"", "back\\slash", "c"))),
      Position.Number(number(Long.MinValue)))
    Mark(
      anyOf("gateway-7", "ü", "a\"b\\", "x" * 160),
      number(),
      number(),
      kind,
      Option.when(kind == Mark.Note || kind != Mark.Alive && random.nextBoolean())(number(Long.MinValue)),
      number(),
      Option.when(kind == Mark.Note || random.nextBoolean())(position),
      Option.when(random.nextInt(4) == 0)(MarkId(number(), number())),
      Option.when(random.nextInt(4) == 0)(number(Long.MinValue)))
  }
}
