package org.apache.spark.sql.tidemark.sources

import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** What the sources of Delta and Iceberg tell about rows that they hold back. Neither reports its latest offset to
  * Spark. They are not part of Spark, so their classes are recognized by name.
  */
private[tidemark] object TableFormatBacklog extends Logging {
  private val mapper = new ObjectMapper

  /** Whether a limit has held rows back; `None` if the source does not tell.
    *
    * @param data Spark's plan of the rows that the batch reads
    * @param seesLaterRows whether the source admits rows that arrived after the run began
    */
  def isHeldBack(
      stream: SparkDataStream,
      limit: ReadLimit,
      end: Offset,
      data: Option[LogicalPlan],
      seesLaterRows: Boolean): Option[Boolean] =
    stream.getClass.getName match {
      case "org.apache.spark.sql.delta.sources.DeltaSource" => data.flatMap(ofDelta(stream, limit, _))
      case "org.apache.iceberg.spark.source.SparkMicroBatchStream" => ofIceberg(stream, end, seesLaterRows)
      case _ => None
    }

  /** Delta adds files while the limit has room left. A change feed adds whole commits, so there the number of files
    * read does not tell.
    */
  private def ofDelta(source: SparkDataStream, limit: ReadLimit, data: LogicalPlan): Option[Boolean] = {
    val relations = data.collectLeaves().collect { case LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
      files.location
    }
    val areAdded = relations.forall(_.getClass.getName == "org.apache.spark.sql.delta.files.TahoeBatchFileIndex")
    // Files that Delta excludes were counted before.
    val isWhole = Try(source.getClass.getMethod("excludeRegex").invoke(source) == None).getOrElse(false)
    Option.when(relations.nonEmpty && areAdded && isWhole) {
      val files = relations.map(_.inputFiles.length.toLong).sum
      val bytes = relations.map(_.sizeInBytes).sum
      limits(limit).exists { case (name, most) => (if (name == "maxFiles") files else bytes) >= most }
    }
  }

  /** The numbers in Delta's limits, which are case classes, and in Spark's. */
  private def limits(limit: Any): Seq[(String, Long)] = limit match {
    case files: ReadMaxFiles => Seq("maxFiles" -> files.maxFiles.toLong)
    case all: Product =>
      all.productElementNames.zip(all.productIterator).toSeq.flatMap {
        case ("maxBytes", bytes: Long) => Seq("maxBytes" -> bytes)
        case (_, inner) => limits(inner)
      }
    case _ => Nil
  }

  /** Iceberg's offset is a snapshot and the number of its added files that have been read. The initial content of the
    * table is counted differently, so there the answer is unknown.
    */
  private def ofIceberg(source: SparkDataStream, end: Offset, seesLaterRows: Boolean): Option[Boolean] = source match {
    case stream: MicroBatchStream with SupportsAdmissionControl =>
      try {
        val (at, latest) = (mapper.readTree(end.json), mapper.readTree(stream.latestOffset().json))
        def number(offset: JsonNode, field: String) = offset.required(field).asLong
        Option.when(!at.required("scan_all_files").asBoolean) {
          if (number(at, "snapshot_id") == number(latest, "snapshot_id"))
            number(at, "position") < number(latest, "position")
          // A newer snapshot may have no new rows, for example after a compaction. Such snapshots are skipped here.
          else !seesLaterRows || stream.latestOffset(end, ReadLimit.maxFiles(1)) != null
        }
      } catch {
        case NonFatal(e) =>
          logDebug("The Iceberg table did not report what is left to read", e)
          None
      }
    case _ => None
  }
}
