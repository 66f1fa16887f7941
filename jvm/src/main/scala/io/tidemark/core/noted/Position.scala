package io.tidemark.core.noted

/** Where a writer was when it noted a time. All but [[Position.Files]] say where the writer is. A list of files says what
  * was finished since the writer's mark before.
  *
  * @param kind the kind in a line of the log
  */
sealed abstract class Position(val kind: String)

object Position {

  /** Kafka: topic to partition to the offset of the next record. The writer has no rows in other partitions. */
  final case class Kafka(offsets: Map[String, Map[Int, Long]]) extends Position("kafka")

  /** Delta: a version of a table, which is included. */
  final case class Delta(table: String, version: Long) extends Position("delta")

  /** All files that `_spark_metadata` lists up to a batch, which is included. */
  final case class SinkBatch(batch: Long) extends Position("sink")

  /** Files finished since the mark before, relative to the path that is read, with `/` between parts. */
  final case class Files(names: Set[String]) extends Position("files")

  /** A source whose offset is one number. */
  final case class Number(value: Long) extends Position("number")
}
