package org.apache.spark.sql.tidemark.support

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.util.zip.CRC32

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted.Mark

import com.fasterxml.jackson.core.json.JsonWriteFeature
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}

import org.apache.spark.sql.tidemark.noted.{MarkFolder, MarkText, PositionText}

/** Lines of mark logs for tests, written field by field. */
object MarkLines {
  val json: ObjectMapper = JsonMapper.builder.enable(JsonWriteFeature.ESCAPE_NON_ASCII).build

  def root: Path = Path.of(sys.props("tidemark.root"))

  /** The vectors in a file of the test resources. */
  def vectors(name: String): Seq[JsonNode] = {
    val file = root.resolve(s"jvm/src/test/resources/vectors/$name")
    json.readTree(Files.readAllBytes(file)).get("suites").get(0).get("vectors").elements.asScala.toSeq
  }

  /** A line with the checksum that it should have. */
  def line(body: Array[Byte]): Array[Byte] = {
    val crc = new CRC32
    crc.update(body)
    f"${crc.getValue}%08x ".getBytes ++ body :+ '\n'.toByte
  }

  def line(fields: String): String = new String(line(fields.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8)

  /** A mark as a line; what is left out is as in most marks. */
  def line(mark: Mark): String = {
    val fields = json.createObjectNode
      .put("v", MarkText.Version).put("w", mark.writer).put("e", mark.epoch).put("n", mark.number)
      .put("k", mark.kind.name).put("at", mark.writtenMillis)
    mark.timeMillis.foreach(fields.put("t", _))
    mark.position.foreach(position => fields.set[JsonNode]("p", json.readTree(PositionText.write(position))))
    mark.mostMillis.foreach(fields.put("m", _))
    mark.after.foreach(place => fields.putArray("after").add(place.epoch).add(place.number))
    line(json.writeValueAsString(fields))
  }

  /** Writes marks as their writers would: each life into a file of its own, when its last mark was written. Fields that are left out are those of a note of
    * the first life, and numbers without gaps.
    */
  def put(folder: Path, marks: Iterable[JsonNode]): Unit = {
    val numbers = scala.collection.mutable.HashMap.empty[(String, Long), Long].withDefaultValue(0)
    val lines = marks.toSeq.map { given =>
      val mark = json.createObjectNode.put("v", 1).put("w", "w").put("e", 1).put("k", "note").put("at", 0)
      mark.setAll[ObjectNode](given.asInstanceOf[ObjectNode])
      val life = (mark.get("w").asText, mark.get("e").asLong)
      if (!mark.has("n")) mark.put("n", numbers(life))
      numbers(life) = mark.get("n").asLong + 1
      life -> (line(json.writeValueAsString(mark)) -> mark.get("at").asLong)
    }
    for (((writer, epoch), all) <- lines.groupMap(_._1)(_._2)) {
      val file = Files.writeString(folder.resolve(s"$writer.$epoch.0.marks"), all.map(_._1).mkString)
      Files.setLastModifiedTime(file, FileTime.fromMillis(all.last._2))
    }
  }

  // Making one reads many settings.
  private lazy val conf = new Configuration

  def folder(path: Path): MarkFolder = new MarkFolder(new HadoopPath(path.toUri), conf)
}
