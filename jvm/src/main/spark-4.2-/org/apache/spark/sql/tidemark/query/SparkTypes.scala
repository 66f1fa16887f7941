package org.apache.spark.sql.tidemark.query

/** Classes of Spark that have moved between its minor versions. */
private[query] object SparkTypes {
  type ErrorNotifier = org.apache.spark.sql.execution.streaming.runtime.ErrorNotifier
}
