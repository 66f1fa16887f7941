package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper._

/** Holds what differs between Spark's minor versions, and nothing else. */
private[tidemark] object SparkShim {

  /** Evicts the join state whose key is `late`. These minors always scan the whole state. */
  def keyPredicate(late: Expression, millis: Long, scannedUpTo: Option[Long]): JoinStateWatermarkPredicate =
    JoinStateKeyWatermarkPredicate(late)

  /** The same for a time that is in the row. */
  def valuePredicate(late: Expression, millis: Long, scannedUpTo: Option[Long]): JoinStateWatermarkPredicate =
    JoinStateValueWatermarkPredicate(late)
}
