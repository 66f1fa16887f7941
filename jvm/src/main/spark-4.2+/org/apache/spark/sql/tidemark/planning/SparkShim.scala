package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper._

/** Holds what differs between Spark's minor versions, and nothing else. */
private[tidemark] object SparkShim {

  /** Evicts the join state whose key is at or before `millis`; no key in state is at or before `scannedUpTo`. */
  def keyPredicate(late: Expression, millis: Long, scannedUpTo: Option[Long]): JoinStateWatermarkPredicate =
    JoinStateKeyWatermarkPredicate(late, millis, scannedUpTo)

  /** The same for a time that is in the row. */
  def valuePredicate(late: Expression, millis: Long, scannedUpTo: Option[Long]): JoinStateWatermarkPredicate =
    JoinStateValueWatermarkPredicate(late, millis, scannedUpTo)
}
