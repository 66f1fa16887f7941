package org.apache.spark.sql.tidemark.noted

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted._

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.{MarkLines, TimeWindows}

/** The conformance vectors about mark logs, which the Python package runs as well. Its page describes the fields. */
class NotedVectorsSuite extends AnyFunSuite {
  import MarkLines._

  private val all = vectors("noted.json")

  test("the file has all vectors, and each has something to read or a cut, which only Python makes") {
    assert(all.size === 35)
    for (vector <- all; step <- vector.get("steps").elements.asScala)
      assert(Seq("read", "skipped", "cut_at").count(step.has) === 1)
    val onlyCuts = all.filter(_.get("steps").elements.asScala.forall(_.has("cut_at"))).map(_.get("id").asText)
    assert(onlyCuts === Seq("nt-17", "nt-18"))
  }

  for (vector <- all)
    test(s"${vector.get("id").asText}: ${vector.get("name").asText}") {
      val folder = Files.createTempDirectory("vectors")
      try run(vector, folder)
      finally org.apache.spark.util.Utils.deleteRecursively(folder.toFile)
    }

  private def run(vector: JsonNode, folder: Path): Unit = {
    val known = Set("id", "name", "note", "marks", "log", "expected", "idle_after", "max_ahead", "steps")
    assert(vector.fieldNames.asScala.filterNot(known).toSeq === Nil)
    put(folder, vector.path("marks").elements.asScala.toSeq)
    for (file <- vector.path("log").properties.asScala)
      Files.writeString(folder.resolve(file.getKey), file.getValue.asText)
    val read = new MarkLogReader(MarkLines.folder(folder)).read()
    for (step <- vector.get("steps").elements.asScala if !step.has("cut_at"))
      if (step.has("skipped")) {
        val reasons = step.get("skipped").elements.asScala.map(_.asText).toSeq
        assert(skipped(folder) === reasons)
        assert(read.skipped === reasons.groupMapReduce(identity)(_ => 1)(_ + _))
      } else if (step.has("refused")) {
        assert(step.get("refused").asText === "MARK_POSITION_MISMATCH")
        intercept[PositionMismatch](window(vector, step, read))
      } else {
        val expected = (TimeWindows.millis(step, "lower"), TimeWindows.millis(step, "upper"))
        assert(window(vector, step, read) === expected, step)
      }
  }

  private def skipped(folder: Path): Seq[String] = {
    val log = MarkLines.folder(folder)
    log.list().sortBy(_.name.text).flatMap { file =>
      val reasons = Seq.newBuilder[String]
      log.read(file.name)((_, line) => reasons ++= line.left.toOption)
      reasons.result()
    }
  }

  private def window(vector: JsonNode, step: JsonNode, read: MarkLogContents): (Option[Long], Option[Long]) = {
    val at = TimeWindows.position(step.get("read"), isAtEnd(step))
    TimeWindows.Reader(vector).window(read.histories, at, step.path("now").asLong, isAtEnd(step))
  }

  private def isAtEnd(step: JsonNode): Boolean = step.path("at_end").asBoolean
}
