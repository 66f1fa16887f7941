package org.apache.spark.sql.tidemark.noted

import java.nio.charset.StandardCharsets
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted.{Mark, MarkId, Position}

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.MarkLines

/** The lines of a mark log, and what is done with those that are not as they should be. */
class MarkTextSuite extends AnyFunSuite {
  import MarkLines._

  private val file = MarkFileName.parse("gateway-7.1795404000000.0.marks").get
  private val page = Files.readString(root.resolve("docs/noted-time/format.md"))
  private val example = page.linesIterator.map(_.trim).find(_.startsWith("6551a15c ")).get

  private def read(line: Array[Byte], file: MarkFileName = file): Either[String, Mark] =
    try Right(new MarkText.Reader(file).mark(line, 0, line.length - 1))
    catch { case e: MarkText.Unusable => Left(e.reason) }
  private def readBody(body: String, file: MarkFileName = file) =
    read(line(body.getBytes(StandardCharsets.UTF_8)), file)
  private def changed(changes: JsonNode): String = {
    val fields = json.readTree(example.drop(9)).asInstanceOf[ObjectNode]
    json.writeValueAsString(fields.setAll[ObjectNode](changes.asInstanceOf[ObjectNode]))
  }

  private val gateway = Mark(
    "gateway-7",
    1795404000000L,
    17,
    Mark.Note,
    Some(1795404060000L),
    1795404061234L,
    Some(Position.Kafka(Map("orders" -> Map(0 -> 23L, 1 -> 42L)))))

  test("the example of the page is the mark that it shows") {
    assert(read(s"$example\n".getBytes) === Right(gateway))
  }

  test("a mark with wrong fields is refused, for the reason that the Python package gives") {
    val refused = json.readTree(Files.readAllBytes(root.resolve("jvm/src/test/resources/vectors/refused-marks.json")))
    assert(refused.size > 40)
    for (example <- refused.elements.asScala)
      assert(readBody(changed(example.get("changes"))) === Left(example.get("reason").asText), example)
  }

  test("10,000 partitions or files are read, and more are refused") {
    def partitions(count: Int) = Position.Kafka(Map("t" -> Map.from((0 until count).map(_ -> 1L))))
    def files(count: Int) = Position.Files((0 until count).map(at => s"f$at").toSet)
    for (position <- Seq[Int => Position](partitions, files)) {
      def read(count: Int) = readBody(line(gateway.copy(position = Some(position(count)))).drop(9).trim)
      assert(read(10001) === Left("p"))
      assert(read(10000).map(_.position) === Right(Some(position(10000))))
    }
  }

  test("marks of any shape are read as they were written") {
    for {
      kind <- Mark.kinds
      position <- Seq(
        Position.Kafka(Map("b" -> Map(10 -> 1L, 2 -> 0L), "ü" -> Map.empty[Int, Long])),
        Position.Delta("a\"b", 12),
        Position.SinkBatch(7),
        Position.Files(Set("b/ü \ud83d\ude00.json", "back\\slash")),
        Position.Number(Long.MinValue))
      after <- Seq(None, Some(MarkId(0, Long.MaxValue)))
    } {
      val time = Option.when(kind != Mark.Alive)(Long.MinValue)
      val mark =
        gateway.copy(kind = kind, timeMillis = time, position = Some(position), after = after, mostMillis = Some(-1))
      assert(read(line(mark).getBytes(StandardCharsets.UTF_8)) === Right(mark))
    }
  }

  test("an alive mark has no time, whatever it says") {
    val alive = changed(json.readTree("""{"k": "alive", "t": "soon"}"""))
    assert(readBody(alive).map(mark => (mark.kind, mark.timeMillis)) === Right((Mark.Alive, None)))
  }

  test("a note without a time or a position is refused, idle and end need none") {
    for (kind <- Seq("note", "idle", "end"); field <- Seq("t", "p")) {
      val fields = json.readTree(example.drop(9)).asInstanceOf[ObjectNode].put("k", kind)
      fields.remove(field)
      val read = readBody(fields.toString)
      if (kind == "note") assert(read === Left(field)) else assert(read.isRight)
    }
  }

  test("unknown fields are skipped") {
    assert(readBody(changed(json.readTree("""{"in": ["{}"], "later": {"x": [1.5, null, 1e999]}}"""))) ===
      Right(gateway))
  }

  test("a line that is not a JSON object in UTF-8 is refused") {
    val object1 = example.drop(9)
    val bodies =
      Seq("", "7", "[" * 100000, """{"v":1""", """{"v":NaN}""", "{}{}", object1 + "x", "\ufeff" + object1, "'a'")
    for (body <- bodies) assert(readBody(body) === Left("json"), body.take(20))
    assert(read(line(Array(0xff.toByte))) === Left("json"))
    // A half of a surrogate pair, and a character in more bytes than it needs.
    for (bytes <- Seq(Array(0xed, 0xa0, 0x80), Array(0xc0, 0xaf)))
      assert(read(line("""{"x":"""".getBytes ++ bytes.map(_.toByte) ++ "\"}".getBytes)) === Left("json"))
    for (encoding <- Seq(StandardCharsets.UTF_16LE, StandardCharsets.UTF_16))
      assert(read(line(object1.getBytes(encoding))) === Left("json"))
  }

  test("a wrong checksum is refused, in upper case as well") {
    val lines = Seq(
      example.replace("6551a15c", "6551A15C"),
      example.replace("6551a15c ", "6551a15c\t"),
      "",
      "6551a15c",
      example + " ")
    for (text <- lines) assert(read(s"$text\n".getBytes) === Left("checksum"))
  }

  test("a mark of another writer or life than the file's is refused") {
    for (name <- Seq("gateway-8.1795404000000.0.marks", "gateway-7.1795404000001.0-255.marks"))
      assert(read(s"$example\n".getBytes, MarkFileName.parse(name).get) === Left("writer"))
  }

  test("every kind of position has one text, which is that of the Python package") {
    val texts = Seq(
      Position.Kafka(Map("b" -> Map(10 -> 1L, 2 -> 0L), "a" -> Map.empty[Int, Long])) ->
        """{"kafka":{"a":{},"b":{"2":0,"10":1}}}""",
      Position.Delta("x-1", 12) -> """{"delta":{"id":"x-1","version":12}}""",
      Position.SinkBatch(7) -> """{"sink":{"batch":7}}""",
      Position.Files(Set("b/ü.json", "a")) -> """{"files":["a","b/ü.json"]}""",
      Position.Number(-7) -> """{"number":-7}""")
    for ((position, text) <- texts) {
      assert(PositionText.write(position) === text)
      assert(PositionText.read(json.readTree(text)) === Some(position))
    }
  }

  test("the names of files lead back to their writer") {
    for (writer <- Seq("gateway-7", "eu west/1", "ü.5.0", "..", "%41", "\n", "a" * 160)) {
      val encoded = MarkFileName.encode(writer)
      val live = MarkFileName.parse(s"$encoded.5.1.marks").get
      assert((live.writer, live.epoch, live.range) === ((writer, 5L, None)))
      val sealedFile = MarkFileName.parse(s"$encoded.5.0-255.marks").get
      assert((sealedFile.writer, sealedFile.first) === ((writer, Some(MarkId(5, 0)))))
      assert(!sealedFile.mayGoBeyond(MarkId(5, 255)) && sealedFile.mayGoBeyond(MarkId(5, 254)))
      assert(live.mayGoBeyond(MarkId(5, 999)) && !live.mayGoBeyond(MarkId(6, 0)))
    }
  }

  test("files of other names are passed over") {
    val names = Seq(
      "w.1.2.marks",
      "w.1.0.marks.tmp",
      ".w.1.0.marks",
      "w.01.0.marks",
      "w.-1.0.marks",
      "w.0.marks",
      "w.1.0-.marks",
      "%41.1.0.marks",
      "%c3%bc.1.0.marks",
      "%C3.1.0.marks",
      "ü.1.0.marks",
      "w.1.0.marks\n",
      ".1.0.marks",
      "a/w.1.0.marks",
      "w.99999999999999999999.0.marks",
      "w.9999999999999999999.0.marks")
    for (name <- names) assert(MarkFileName.parse(name) === None, name)
  }
}
