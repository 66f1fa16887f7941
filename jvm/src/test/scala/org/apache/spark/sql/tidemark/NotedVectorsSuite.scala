package org.apache.spark.sql.tidemark

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted._

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.noted.{MarkLogContents, MarkLogReader, PositionText}

/** The conformance vectors about mark logs, which the Python package runs as well. Its page describes the fields. */
class NotedVectorsSuite extends AnyFunSuite {
  import MarkLines._

  private val vectors = {
    val file = root.resolve("jvm/src/test/resources/vectors/noted.json")
    json.readTree(Files.readAllBytes(file)).get("suites").get(0).get("vectors").elements.asScala.toSeq
  }

  test("all vectors are there, and each has something to read or a cut, which only Python makes") {
    assert(vectors.size === 35)
    for (vector <- vectors; step <- vector.get("steps").elements.asScala)
      assert(Seq("read", "skipped", "cut_at").count(step.has) === 1)
    val onlyCuts = vectors.filter(_.get("steps").elements.asScala.forall(_.has("cut_at"))).map(_.get("id").asText)
    assert(onlyCuts === Seq("nt-17", "nt-18"))
  }

  for (vector <- vectors)
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
        def time(name: String) = Option(step.get(name)).filterNot(_.isNull).map(_.asLong)
        assert(window(vector, step, read) === ((time("lower"), time("upper"))), step)
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

  /** The time window of a position: the rules of a reader that keeps no state. */
  private def window(vector: JsonNode, step: JsonNode, read: MarkLogContents): (Option[Long], Option[Long]) = {
    val now = step.path("now").asLong
    val latest = Option(vector.get("max_ahead")).map(now + _.asLong)
    val noted = NotedWriters(read.histories, Map.empty, position(step.get("read"), isAtEnd(step)), latest)
    val expected = vector.path("expected").elements.asScala.map(_.asText).toSeq
    val lastActive = noted.writers.values.filter(_.timeMillis.isDefined).map(_.state.lastActiveMillis)
    val isOut = noted.writers.map { case (writer, one) =>
      val isStalled = Option(vector.get("idle_after")).exists { after =>
        lastActive.maxOption.exists(latest => math.min(latest, now) - one.state.lastActiveMillis >= after.asLong)
      }
      val isAwake = one.state.hasPending && !isAtEnd(step)
      writer -> (one.state.isResting || isStalled && !isAwake)
    }
    val waiting = noted.writers.filterNot { case (writer, _) => isOut(writer) }
    val lowers = waiting.values.flatMap(_.timeMillis)
    if (expected.exists(!noted.writers.contains(_))) (None, None)
    else if (waiting.isEmpty) (noted.writers.values.flatMap(_.timeMillis).maxOption, None)
    else (Option.when(lowers.size == waiting.size)(lowers.min), noted.upperMillis(isOut))
  }

  private def isAtEnd(step: JsonNode): Boolean = step.path("at_end").asBoolean

  private def position(read: JsonNode, isAtEnd: Boolean): ReadPosition = PositionText.read(read).get match {
    case Position.Partitions(offsets) => ReadPosition.Partitions(offsets)
    case Position.Version(table, version) => ReadPosition.Version(table, Some(version))
    case Position.Files(names) =>
      new ReadPosition.Files(names, _ => false) {
        override def isDrained: Boolean = isAtEnd
      }
    case Position.SinkBatch(batch) => new ReadPosition.Files(_ => false, _ <= batch)
    case Position.Number(value) => ReadPosition.Number(value)
  }
}
