package org.apache.spark.sql.tidemark.query

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted.ReadPosition

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.connector.read.streaming.{Offset, SparkDataStream}
import org.apache.spark.sql.execution.streaming.runtime.{FileStreamSource, MicroBatchExecution}

/** What a query has read of its sources when a batch has ended, for comparing it with the positions of marks. */
private[tidemark] final class ReadPositions(execution: MicroBatchExecution) {
  import ReadPositions._

  private lazy val session = SparkInternals.session(execution)

  // Reading the log of a file sink is not cheap, so what has been found is kept.
  private val files = scala.collection.mutable.Map.empty[FileStreamSource, ReadFiles]

  /** @param streams the sources of one input; @return `None` while nothing has been read
    * @throws IllegalArgumentException if marks cannot be compared with these sources, with the reason
    */
  def of(streams: Seq[SparkDataStream]): Option[ReadPosition] = {
    val ends = execution.getLatestExecutionContext().endOffsets
    val read = streams.map(stream => stream -> ends.get(stream))
    if (streams.forall(isKafka)) kafka(read.map(_._2))
    else
      read.distinct match {
        case Seq((source: FileStreamSource, end)) =>
          val readFiles = files.getOrElseUpdate(source, new ReadFiles(source, session))
          end.map(_ => new ReadPosition.Files(readFiles.hasRead, readFiles.hasReadSinkBatch))
        case Seq((_, Some(end))) => Some(ofOne(end))
        case Seq((_, None)) => None
        case several =>
          throw new IllegalArgumentException(s"it reads ${several.size} sources that are not all of Kafka")
      }
  }

  /** A topic that two sources read has been read as far as the source that is behind. */
  private def kafka(ends: Seq[Option[Offset]]): Option[ReadPosition] =
    Option.when(ends.nonEmpty && ends.forall(_.nonEmpty)) {
      val all = ends.flatten.map(offsetsOf).flatten.groupMapReduce(_._1)(_._2)(math.min)
      ReadPosition.Partitions(all.groupMap(_._1.topic) { case (at, offset) => at.number.toInt -> offset }.map {
        case (topic, offsets) => topic -> offsets.toMap
      })
    }

  private def ofOne(end: Offset): ReadPosition = {
    val at = mapper.readTree(end.json)
    if (at.isIntegralNumber) ReadPosition.Number(at.asLong)
    else if (at.hasNonNull("reservoirId") && at.hasNonNull("reservoirVersion")) {
      // While the initial snapshot is being read, files of all versions come in any order.
      val isWhole = !at.path("isStartingVersion").asBoolean
      // The offset is inside this version, or before it. All earlier ones have been read.
      val last = at.get("reservoirVersion").asLong - 1
      ReadPosition.Version(at.get("reservoirId").asText, Option.when(isWhole && last >= 0)(last))
    } else throw new IllegalArgumentException(s"its source has offsets such as ${end.json}")
  }
}

private[tidemark] object ReadPositions {
  private val mapper = new ObjectMapper

  /** A partition of a Kafka topic. */
  final case class Partition(topic: String, number: String)

  /** The connector is not part of Spark's core, so its classes are recognized by name. */
  def isKafka(stream: SparkDataStream): Boolean =
    stream.getClass.getName.startsWith("org.apache.spark.sql.kafka010.")

  /** Kafka's offsets: `{"topic": {"0": 23, "1": 42}}`. */
  def offsetsOf(offset: Offset): Map[Partition, Long] = {
    val topics = mapper.readTree(offset.json)
    topics.fieldNames().asScala.flatMap { topic =>
      topics.get(topic).fieldNames().asScala.map(n => Partition(topic, n) -> topics.get(topic).get(n).asLong)
    }.toMap
  }
}
