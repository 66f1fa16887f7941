package org.apache.spark.sql.tidemark.stream

import org.apache.spark.sql.execution.streaming.checkpointing.{
  OffsetSeqMetadata,
  OffsetSeqMetadataBase,
  OffsetSeqMetadataV2
}

/** What Spark's offset log has of a batch beside its offsets. */
private[tidemark] object BatchMetadata {

  def withSetting(metadata: OffsetSeqMetadataBase, key: String, value: String): OffsetSeqMetadataBase =
    metadata match {
      case numbered: OffsetSeqMetadata => numbered.copy(conf = numbered.conf + (key -> value))
      case named: OffsetSeqMetadataV2 => named.copy(conf = named.conf + (key -> value))
      case other => other
    }
}
