package org.apache.spark.sql.tidemark.stream

/** Classes of Spark that have moved between its minor versions. */
private[tidemark] object SparkTypes {
  type ErrorNotifier = org.apache.spark.sql.execution.streaming.runtime.ErrorNotifier
}
