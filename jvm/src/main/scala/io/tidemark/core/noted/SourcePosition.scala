package io.tidemark.core.noted

/** What a query has read of the stream that a mark log is about. */
sealed abstract class SourcePosition(val kind: String) {

  /** Whether all before `position` has been read. A list of files counts alone here; [[WriterHistory]] adds the marks
    * before.
    * @throws PositionMismatch if the position is of another kind
    */
  final def hasPassed(writer: String, position: Position): Boolean =
    passed.applyOrElse(position, (other: Position) => throw new PositionMismatch(writer, other.kind, kind))

  protected def passed: PartialFunction[Position, Boolean]
}

object SourcePosition {

  /** Nothing has been read yet, so no position has been passed. */
  case object Nothing extends SourcePosition("nothing") {
    override protected def passed: PartialFunction[Position, Boolean] = { case _ => false }
  }

  /** Kafka.
    * @param offsets topic to partition to the offset of the next record to read. A topic that is missing here is not
    *   compared. A partition that is missing has not been passed.
    */
  final case class Kafka(offsets: Map[String, Map[Int, Long]]) extends SourcePosition("kafka") {
    override protected def passed: PartialFunction[Position, Boolean] = {
      case Position.Kafka(noted) =>
        noted.forall { case (topic, partitions) =>
          offsets.get(topic).forall(read =>
            partitions.forall { case (partition, offset) => read.get(partition).exists(_ >= offset) })
        }
    }
  }

  /** Delta: the last version that has been read as a whole; `None` while there is none. */
  final case class Delta(table: String, version: Option[Long]) extends SourcePosition("delta") {
    override protected def passed: PartialFunction[Position, Boolean] = {
      case Position.Delta(noted, last) => noted == table && version.exists(_ >= last)
    }
  }

  /** Files. A writer's marks either list files or name batches of a file sink.
    * @param hasRead whether a file has been read, by its name relative to the path that is read
    * @param hasReadSinkBatch whether all files that `_spark_metadata` lists up to a batch have been read
    */
  class Files(hasRead: String => Boolean, hasReadSinkBatch: Long => Boolean) extends SourcePosition("files") {

    /** Whether all files that the source has listed have been read. */
    def isDrained: Boolean = false

    /** Whether a file was looked for when marks were compared, and had not been read. Any thread may ask. */
    def isKnownUnread(name: String): Boolean = false

    /** Why such a file may never be read, if that was seen then. */
    def whyUnread(name: String): Option[String] = None

    override protected def passed: PartialFunction[Position, Boolean] = {
      case Position.Files(names) => names.forall(hasRead)
      case Position.SinkBatch(batch) => hasReadSinkBatch(batch)
    }
  }

  /** A source whose offset is one number: that of the next row to read. */
  final case class Number(value: Long) extends SourcePosition("number") {
    override protected def passed: PartialFunction[Position, Boolean] = {
      case Position.Number(noted) => noted <= value
    }
  }
}

/** The marks of a writer have another kind of position than what is read. */
final class PositionMismatch(val writer: String, val position: String, val other: String)
    extends Exception(s"the marks of writer '$writer' have positions of kind $position, not $other")
