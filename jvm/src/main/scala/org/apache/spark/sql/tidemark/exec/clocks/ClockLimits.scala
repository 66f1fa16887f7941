package org.apache.spark.sql.tidemark.exec.clocks

import io.tidemark.{TidemarkError, TidemarkException}

/** Limits on the clocks of an input's splits, for its tasks.
  *
  * @param latestMillis event times after it move no clock (ms)
  * @param maxSplits how many splits are allowed
  */
private[tidemark] final case class ClockLimits(latestMillis: Long, maxSplits: Int) {

  /** @param column the event-time column's name, for the message
    * @throws TidemarkException when there are more splits than are allowed
    */
  def requireAllowed(count: Int, column: String): Unit =
    if (count > maxSplits) throw new TidemarkException(TidemarkError.TooManySplits(column, count, maxSplits))
}

private[tidemark] object ClockLimits {
  val Unlimited: ClockLimits = ClockLimits(Long.MaxValue, Int.MaxValue)
}
