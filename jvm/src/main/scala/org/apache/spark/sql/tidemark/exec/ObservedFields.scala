package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.types.DataType

/** What the progress of a batch says beside its late rows.
  * @param columns names and types, fixed when the batch is planned
  * @param values the values once the batch has ended, in the order of the columns; any may be null
  */
private[tidemark] final case class ObservedFields(columns: Seq[(String, DataType)], values: () => Seq[Any])
