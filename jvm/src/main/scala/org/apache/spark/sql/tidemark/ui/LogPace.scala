package org.apache.spark.sql.tidemark.ui

/** When the next report of a run goes into the event log: each time that the run is twice as old, until that is less often than
  * about 5 MB a day. Not for several threads.
  */
private[tidemark] final class LogPace(startMillis: Long) {
  import LogPace._

  private var nextMillis = startMillis

  def isDue(nowMillis: Long): Boolean = nowMillis >= nextMillis

  /** @param chars of the report that has been logged now */
  def logged(nowMillis: Long, chars: Int): Unit = {
    val age = math.max(0L, nowMillis - startMillis)
    nextMillis = nowMillis + math.max(ShortestMillis, math.min(age, chars * 1000L / CharsPerSecond))
  }
}

private[tidemark] object LogPace {
  private val ShortestMillis = 10000L
  private val CharsPerSecond = 58L
}
