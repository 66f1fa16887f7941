package org.apache.spark.sql.tidemark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.streaming.util.StreamManualClock

/** Queries with a trigger each second of a clock that the test moves (ms from 0); moving it waits until the trigger's work is
  * done.
  */
trait ManualClockTest extends KeyedWatermarkTest {
  private var clock = new StreamManualClock

  protected def run(df: DataFrame)(actions: StreamAction*): Unit = {
    clock = new StreamManualClock
    testStream(df)(StartStream(Trigger.ProcessingTime("1 second"), triggerClock = clock) +: actions.flatMap {
      case advance: AdvanceManualClock => Seq(advance, Execute(_ => triggered()))
      case other => Seq(other)
    }: _*)
  }

  /** Returns when what the clock's time asks for has been done. */
  protected def triggered(): Unit = {
    eventually(timeout(streamingTimeout))(assert(clock.isStreamWaitingAt(clock.getTimeMillis())))
    ()
  }
}
