package org.apache.spark.sql.tidemark.stream

import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata

/** What Spark's offset log has of a batch beside its offsets. */
private[tidemark] object BatchMetadata {

  def withSetting(metadata: OffsetSeqMetadata, key: String, value: String): OffsetSeqMetadata =
    metadata.copy(conf = metadata.conf + (key -> value))
}
