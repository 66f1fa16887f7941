package org.apache.spark.sql.tidemark.support

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.streaming.util.StreamManualClock

/** Queries with a trigger each second of a clock that the test moves (ms from 0); moving it waits until the trigger's work is
  * done.
  */
trait ManualClockTest extends WatermarkTest {
  private var clock = new StreamManualClock

  protected def run(df: DataFrame)(actions: StreamAction*): Unit = {
    clock = new StreamManualClock
    val all = if (actions.head.isInstanceOf[StartStream]) actions else StartStream() +: actions
    testStream(df)(all.flatMap {
      case start: StartStream =>
        Seq(start.copy(trigger = Trigger.ProcessingTime("1 second"), triggerClock = clock), Execute(_ => triggered()))
      case advance: AdvanceManualClock => Seq(advance, Execute(_ => triggered()))
      case other => Seq(other)
    }: _*)
  }

  /** Moves the clock in the middle of a batch. */
  protected def moveWithin(millis: Long): Unit = clock.advance(millis)

  /** For histories in which a batch moves the clock as well: `StreamTest` knows its own moves only. */
  protected def move(millis: Long): StreamAction = Execute { _ =>
    clock.advance(millis)
    triggered()
  }

  /** Moves the clock by a second, again and again, until a condition holds: a trigger without rows waits for no log. */
  protected def until(condition: StreamExecution => Boolean): StreamAction = Execute { query =>
    eventually(timeout(streamingTimeout)) {
      moveWithin(1000)
      triggered()
      assert(condition(query))
    }
  }

  /** Returns when what the clock's time asks for has been done. */
  protected def triggered(): Unit = {
    eventually(timeout(streamingTimeout))(assert(clock.isStreamWaitingAt(clock.getTimeMillis())))
    ()
  }
}

object ManualClockTest {

  /** What the next batch that asks does in its midst, once: tasks of the test's session take it from here. */
  val within = new AtomicReference[() => Unit](() => ())
}
