package org.apache.spark.sql.tidemark.sources

import io.tidemark.core.noted.SourcePosition

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.connector.read.streaming.{Offset, SparkDataStream}
import org.apache.spark.sql.execution.streaming.runtime.{FileStreamSource, MicroBatchExecution}
import org.apache.spark.sql.tidemark.columns.KafkaOffsets.{byTopic, isKafka, offsetsOf}
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** What a query has read of its sources when a batch has ended, for comparing it with the positions of marks.
  *
  * @param isDrained whether the batch has read all that a source had listed
  */
private[tidemark] final class SourcePositions(execution: MicroBatchExecution, isDrained: SparkDataStream => Boolean) {
  import SourcePositions._

  private lazy val session = SparkInternals.session(execution)

  // Reading the log of a file sink is not cheap, so what has been found is kept.
  private val files = scala.collection.mutable.Map.empty[FileStreamSource, FilesRead]

  /** @param streams the sources of one input; @return `None` while nothing has been read
    * @throws IllegalArgumentException if marks cannot be compared with these sources, with the reason
    */
  def of(streams: Seq[SparkDataStream]): Option[SourcePosition] = {
    val ends = execution.getLatestExecutionContext().endOffsets
    val read = streams.map(stream => stream -> ends.get(stream))
    if (streams.forall(isKafka)) kafka(read.map(_._2))
    else
      read.map { case (source, end) => end.map(ofOne(source, _)) }.reduce[Option[SourcePosition]] { (left, right) =>
        for (a <- left; b <- right) yield leastOf(a, b)
      }
  }

  /** What two copies of a source have both read. */
  private def leastOf(left: SourcePosition, right: SourcePosition): SourcePosition = (left, right) match {
    case (SourcePosition.Number(a), SourcePosition.Number(b)) => SourcePosition.Number(math.min(a, b))
    case (SourcePosition.Delta(a, at), SourcePosition.Delta(b, upTo)) if a == b =>
      SourcePosition.Delta(a, for (x <- at; y <- upTo) yield math.min(x, y))
    case (a: FilesRead.Position, b: FilesRead.Position) if a.base == b.base => a.and(b)
    case _ => throw new IllegalArgumentException("it reads several sources that are not all of Kafka")
  }

  /** A topic that two sources read has been read as far as the source that is behind. */
  private def kafka(ends: Seq[Option[Offset]]): Option[SourcePosition] =
    Option.when(ends.nonEmpty && ends.forall(_.nonEmpty)) {
      val all = ends.flatten.map(offsetsOf).flatten.groupMapReduce(_._1)(_._2)(math.min)
      SourcePosition.Kafka(byTopic(all))
    }

  private def ofOne(source: SparkDataStream, end: Offset): SourcePosition = source match {
    case stream: FileStreamSource =>
      files.getOrElseUpdate(stream, new FilesRead(stream, session, () => isDrained(stream))).position
    case _ => ofOffset(end)
  }

  private def ofOffset(end: Offset): SourcePosition = {
    val at = mapper.readTree(end.json)
    if (at.isIntegralNumber) SourcePosition.Number(at.asLong)
    else if (at.hasNonNull("reservoirId") && at.hasNonNull("reservoirVersion")) {
      // While the initial snapshot is being read, files of all versions come in any order.
      val isWhole = !at.path("isStartingVersion").asBoolean
      // The offset is inside this version, or before it. All earlier ones have been read.
      val last = at.get("reservoirVersion").asLong - 1
      SourcePosition.Delta(at.get("reservoirId").asText, Option.when(isWhole && last >= 0)(last))
    } else throw new IllegalArgumentException(s"its source has offsets such as ${end.json}")
  }
}

private[tidemark] object SourcePositions {
  private val mapper = new ObjectMapper
}
