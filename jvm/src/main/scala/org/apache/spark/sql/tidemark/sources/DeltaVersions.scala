package org.apache.spark.sql.tidemark.sources

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets

import scala.io.Source
import scala.util.Using

import io.tidemark.core.noted.Position

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The versions of a Delta table, by the files in its log (Delta's protocol: `_delta_log/<20 digits>.json`). No class of
  * Delta is needed.
  */
private[tidemark] final class DeltaVersions(table: Path, conf: => Configuration) {
  import DeltaVersions._

  private val log = new Path(table, "_delta_log")
  private lazy val files = log.getFileSystem(conf)
  // Looked for once: without an answer each batch would read the whole log.
  private lazy val id: Option[String] = {
    val newest = versions.sorted.reverse
    newest.take(MostChecksums).iterator.flatMap(idInChecksum).nextOption()
      .orElse(newest.iterator.flatMap(idIn).nextOption())
  }

  /** The newest version.
    * @throws java.io.IOException if there is none, or it cannot be read
    */
  def latest: Position.Delta = {
    val last = (versions ++ staged).maxOption.getOrElse(throw new IOException(
      s"there is no version of a table in $log"))
    Position.Delta(id.getOrElse(throw new IOException(s"no version in $log has the id of the table")), last)
  }

  private def versions: Seq[Long] = files.listStatus(log).toSeq.map(_.getPath.getName).collect {
    case Name(version) => version.toLong
  }

  /** Versions that a catalog has accepted, and that are not published yet. */
  private def staged: Seq[Long] =
    try files.listStatus(new Path(log, "_staged_commits")).toSeq.map(_.getPath.getName).collect {
        case Staged(version) => version.toLong
      }
    catch { case _: FileNotFoundException => Nil }

  /** The table's id is in the checksum file of a version, unless Delta was told to write none. */
  private def idInChecksum(version: Long): Option[String] =
    try read(f"$version%020d.crc")(_.mkString).map(mapper.readTree(_).path("metadata").path("id"))
        .filter(_.isTextual).map(_.asText)
    catch { case _: JsonProcessingException => None }

  /** It is also in the versions that have set the table's metadata, which Delta deletes in time. */
  private def idIn(version: Long): Option[String] = read(f"$version%020d.json") { lines =>
    lines.filter(_.contains("\"metaData\"")).map(line => mapper.readTree(line).path("metaData").path("id"))
      .find(_.isTextual).map(_.asText)
  }.flatten

  private def read[A](name: String)(of: Iterator[String] => A): Option[A] =
    try Some(Using.resource(files.open(new Path(log, name))) { in =>
        of(Source.fromInputStream(in, StandardCharsets.UTF_8.name).getLines())
      })
    catch { case _: FileNotFoundException => None }
}

private object DeltaVersions {
  private val Name = raw"([0-9]{20})\.json".r
  private val Staged = raw"([0-9]{20})\..+\.json".r
  private val MostChecksums = 3
  private val mapper = new ObjectMapper
}
