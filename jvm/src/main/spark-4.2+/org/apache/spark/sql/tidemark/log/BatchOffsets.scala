package org.apache.spark.sql.tidemark.log

import org.apache.spark.sql.connector.read.streaming.Offset
import org.apache.spark.sql.execution.streaming.checkpointing.{OffsetMap, OffsetSeqBase}

/** The end offsets of a batch in Spark's log. */
private[tidemark] object BatchOffsets {

  /** By source: its name, if the query names its sources, else its number. */
  def of(batch: OffsetSeqBase): Seq[(String, Option[Offset])] = batch match {
    case named: OffsetMap => named.offsetsMap.toSeq.sortBy(_._1)
    case _ => batch.offsets.zipWithIndex.map { case (offset, source) => source.toString -> offset }
  }
}
