package org.apache.spark.sql.tidemark.query

import java.io.IOException
import java.nio.charset.StandardCharsets

import scala.io.Source
import scala.util.Using

import io.tidemark.core.noted.Position

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
  private lazy val id = versions.reverseIterator.flatMap(idIn).nextOption().getOrElse(
    throw new IOException(s"no version in $log has the id of the table"))

  /** The newest version.
    * @throws java.io.IOException if there is none, or it cannot be read
    */
  def latest: Position.Version = Position.Version(
    id,
    versions.lastOption.getOrElse(throw new IOException(s"there is no version of a table in $log")))

  private def versions: Seq[Long] = files.listStatus(log).toSeq.map(_.getPath.getName).collect {
    case Name(version) => version.toLong
  }.sorted

  private def idIn(version: Long): Option[String] =
    Using.resource(files.open(new Path(log, f"$version%020d.json"))) { in =>
      Source.fromInputStream(in, StandardCharsets.UTF_8.name).getLines().filter(_.contains("\"metaData\""))
        .map(line => mapper.readTree(line).path("metaData").path("id")).find(_.isTextual).map(_.asText)
    }
}

private object DeltaVersions {
  private val Name = raw"([0-9]{20})\.json".r
  private val mapper = new ObjectMapper
}
