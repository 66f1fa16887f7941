package org.apache.spark.sql.tidemark.exec

import io.tidemark.core.EventTimeUnits

import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeStats, EventTimeStatsAccum}
import org.apache.spark.sql.tidemark.exec.clocks.TaskCollector

/** The event times of one task, in plain fields; they reach the accumulator when the task ends. */
private[tidemark] final class EventTimes(into: EventTimeStatsAccum) {
  private var count = 0L
  private var least = Long.MaxValue
  private var largest = Long.MinValue
  private var first = 0L
  // Relative to the first time, which keeps the sum small: a Long would overflow for times that are far apart.
  private var sum = 0.0

  def add(micros: Long): Unit = {
    val millis = EventTimeUnits.millis(micros)
    if (count == 0) first = millis
    if (millis < least) least = millis
    if (millis > largest) largest = millis
    sum += (millis - first).toDouble
    count += 1
  }

  private[tidemark] def flush(): Unit =
    if (count > 0)
      into.merge(new EventTimeStatsAccum(EventTimeStats(largest, least, first + sum / count, count)))
}

private[tidemark] object EventTimes {

  /** Sent to executors. */
  final case class Factory(into: EventTimeStatsAccum) {
    def begin(): EventTimes = {
      val times = new EventTimes(into)
      TaskCollector.begin(times)(_ => times.flush())
    }
  }
}
