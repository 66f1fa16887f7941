package org.apache.spark.sql.tidemark.log

import org.apache.spark.sql.connector.read.streaming.Offset
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeq

/** The end offsets of a batch in Spark's log. */
private[tidemark] object BatchOffsets {

  /** By source: its number, as sources have no names. */
  def of(batch: OffsetSeq): Seq[(String, Option[Offset])] =
    batch.offsets.zipWithIndex.map { case (offset, source) => source.toString -> offset }
}
