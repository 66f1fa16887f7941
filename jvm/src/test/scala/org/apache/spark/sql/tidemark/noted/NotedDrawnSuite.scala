package org.apache.spark.sql.tidemark.noted

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.tidemark.core.noted._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.exceptions.TestFailedException
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.{MarkLines, NotedQuery, TimeWindows}

/** Drawn histories of a mark log, which the Python package runs as well: its readers and the engine say the same, and no
  * row is late by either. `README.md` beside the file describes the fields.
  */
class NotedDrawnSuite extends AnyFunSuite {
  import MarkLines._
  import NotedDrawnSuite._

  private val all = vectors("noted-drawn.json")

  test("all histories are in the file, those of files and those of records") {
    assert(all.size === 50)
    assert(all.count(_.findValue("read").has("kafka")) === 16)
  }

  for (vector <- all)
    test(s"${vector.get("id").asText}: ${vector.get("name").asText}")(run(vector))

  test("a row that is late is named") {
    val vector = all.head.deepCopy[ObjectNode]
    vector.get("steps").get(0).asInstanceOf[ObjectNode].putArray("rows").addArray().add("eu").add("never").add(1)
    assert(intercept[TestFailedException](run(vector)).getMessage.contains("never"))
  }

  private def run(vector: JsonNode): Unit = {
    val folder = Files.createTempDirectory("drawn")
    try new Replay(vector, folder).run()
    finally org.apache.spark.util.Utils.deleteRecursively(folder.toFile)
  }

  /** A history that happens again. */
  private final class Replay(vector: JsonNode, folder: Path) {
    private var now = 0L
    private var histories = Map.empty[String, WriterHistory]
    private val rows = mutable.ArrayBuffer.empty[Row]
    private val lines = vector.get("marks").elements.asScala.map { fields =>
      val whole = json.createObjectNode.put("v", MarkText.Version)
      line(json.writeValueAsString(whole.setAll[ObjectNode](fields.asInstanceOf[ObjectNode])))
    }.toIndexedSeq
    private val log = new MarkLogReader(MarkLines.folder(folder), clockMillis = () => now)
    private val readers = vector.get("readers").elements.asScala.map { fields =>
      val reader = TimeWindows.Reader(fields)
      new Asked(reader, new NotedQuery(folder, reader, () => now))
    }.toIndexedSeq

    def run(): Unit = for ((step, number) <- vector.get("steps").elements.asScala.zipWithIndex)
      withClue(s"step ${number + 1}: ") {
        assert(step.fieldNames.asScala.filterNot(known).toSeq === Nil)
        now = TimeWindows.millis(step, "now").getOrElse(now)
        if (step.has("log")) {
          step.get("log").properties.asScala.foreach(file => put(folder.resolve(file.getKey), file.getValue))
          histories = log.read().histories
        }
        rows ++= step.path("rows").elements.asScala.flatMap(Row.all)
        if (step.has("reader")) ask(readers(step.get("reader").asInt), step)
      }

    private def put(file: Path, content: JsonNode): Unit =
      if (content.isNull) Files.delete(file)
      else {
        val written = content.elements.asScala.drop(1)
        val text = written.map(part => if (part.isInt) lines(part.asInt) else part.asText).mkString
        Files.write(file, text.getBytes(StandardCharsets.UTF_8))
        Files.setLastModifiedTime(file, FileTime.fromMillis(content.get(0).asLong))
      }

    private def ask(asked: Asked, step: JsonNode): Unit = {
      val isAtEnd = step.path("at_end").asBoolean
      // What is read now comes after the watermark, too.
      asked.requireNoneLate(rows)
      val hasRows = asked.read(step.get("read"))
      val read = asked.position(isAtEnd)
      val wanted = histories.filter { case (writer, _) => asked.reader.isWanted(writer) }
      val window = asked.reader.window(wanted, read, now, isAtEnd)
      assert(window === ((TimeWindows.millis(step, "lower"), TimeWindows.millis(step, "upper"))))
      asked.windows.reach(window._1)
      asked.query.reach(asked.noted.batch(read, hasRows))
      asked.excuse(names(step, "excused"))
      asked.requireNoneLate(rows)
      asked.excuse(names(step, "done"))
    }

    private def names(step: JsonNode, field: String) = step.path(field).elements.asScala.map(_.asText).toSeq
  }

  /** A reader, what it has read, and how far it is by the windows of positions and as a query. */
  private final class Asked(val reader: TimeWindows.Reader, val noted: NotedQuery) {
    val windows = new Reached("window")
    val query = new Reached("query")
    private var files = Set.empty[String]
    private var offsets = Map.empty[String, Map[Int, Long]]

    /** Reads on. Returns whether there were rows. */
    def read(position: JsonNode): Boolean = PositionText.read(position).get match {
      case Position.Files(names) => files ++= names; names.nonEmpty
      case Position.Kafka(to) => val has = to != offsets; offsets = to; has
      case other => fail(s"a position of kind ${other.kind}")
    }

    def position(isAtEnd: Boolean): SourcePosition =
      if (offsets.nonEmpty) SourcePosition.Kafka(offsets) else TimeWindows.files(files, isAtEnd)

    private def hasRead(row: Row): Boolean = row.at match {
      case Left(file) => files(file)
      case Right((partition, offset)) => offsets.values.exists(_.get(partition).exists(offset < _))
    }

    def excuse(writers: Seq[String]): Unit = Seq(windows, query).foreach(_.excuse(writers))

    def requireNoneLate(rows: Iterable[Row]): Unit = {
      val unread = rows.filterNot(hasRead)
      for (reached <- Seq(windows, query)) assert(unread.filter(reached.isLate).toSeq === Nil, reached)
    }
  }
}

private object NotedDrawnSuite {
  private val known =
    Set("now", "log", "rows", "reader", "read", "at_end", "lower", "upper", "excused", "done")

  /** A row of a writer that keeps its word.
    * @param at its file, or its partition and offset
    */
  final case class Row(writer: String, at: Either[String, (Int, Long)], millis: Long)

  object Row {

    /** The rows of an entry of `rows`. */
    def all(written: JsonNode): Seq[Row] = {
      val (writer, place) = (written.get(0).asText, written.get(1))
      if (place.isTextual)
        written.elements.asScala.drop(2).map(time => Row(writer, Left(place.asText), time.asLong)).toSeq
      else Seq(Row(writer, Right((place.asInt, written.get(2).asLong)), written.get(3).asLong))
    }
  }

  /** A watermark that never goes back, and up to where each writer's rows may be late. */
  final class Reached(name: String) {
    private var millis = Option.empty[Long]
    private var excused = Map.empty[String, Long]

    def reach(to: Option[Long]): Unit = millis = (millis ++ to).maxOption
    def excuse(writers: Seq[String]): Unit = excused ++= millis.toSeq.flatMap(to => writers.map(_ -> to))
    def isLate(row: Row): Boolean = millis.exists(row.millis <= _) && excused.get(row.writer).forall(_ < row.millis)

    override def toString: String = s"$name at $millis, excused $excused"
  }
}
