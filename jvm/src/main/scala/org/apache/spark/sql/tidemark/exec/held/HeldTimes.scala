package org.apache.spark.sql.tidemark.exec.held

import org.apache.spark.util.AccumulatorV2

/** The smallest and the largest event time (µs) that an operator holds after a batch, over all its tasks. */
private[exec] final class HeldTimes extends AccumulatorV2[Option[(Long, Long)], Option[(Long, Long)]] {
  @volatile private var times = Option.empty[(Long, Long)]

  override def add(more: Option[(Long, Long)]): Unit =
    times = (times ++ more).reduceOption[(Long, Long)] { case ((a, b), (c, d)) => (math.min(a, c), math.max(b, d)) }
  override def merge(other: AccumulatorV2[Option[(Long, Long)], Option[(Long, Long)]]): Unit = add(other.value)
  override def value: Option[(Long, Long)] = times
  override def isZero: Boolean = times.isEmpty
  override def reset(): Unit = times = None
  override def copy(): HeldTimes = {
    val same = new HeldTimes
    same.times = times
    same
  }
}
