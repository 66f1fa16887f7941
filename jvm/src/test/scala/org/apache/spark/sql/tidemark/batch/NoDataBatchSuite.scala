package org.apache.spark.sql.tidemark.batch

import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.streaming.util.StreamManualClock
import org.apache.spark.sql.tidemark.support.TwoStreams

/** When a batch without data runs, by a clock that the test moves. */
class NoDataBatchSuite extends TwoStreams {
  import testImplicits._

  test(
    "new rows on only one side of a join cause one no-data batch at the next trigger, and no further batch") {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    def clockTime(column: String) = date_format(col(column), "HH:mm")
    val joined = a
      .join(b, expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 10 MINUTES"), "full_outer")
      .select(clockTime("ta"), clockTime("tb"))
    val clock = new StreamManualClock
    withTempDir { checkpoint =>
      // Where a batch ran at this trigger, its entry has the trigger's time.
      def ended(last: Long, millis: Long) = Execute { (_: StreamExecution) =>
        eventually(timeout(streamingTimeout))(assert(clock.isStreamWaitingAt(clock.getTimeMillis())))
        assert(batchesIn(checkpoint, "commits") === (0L to last))
        assert(batchesIn(checkpoint, "tidemark") === (0L to last))
        assert(entry(checkpoint, last).timestampMillis === millis)
      }
      testStream(joined)(
        StartStream(
          Trigger.ProcessingTime("1 second"),
          triggerClock = clock,
          checkpointLocation = checkpoint.getCanonicalPath),
        AddData(left, 1 -> at("10:00")),
        AddData(right, 9 -> at("10:00")),
        AdvanceManualClock(1000),
        ended(last = 0, millis = 1000),
        AdvanceManualClock(1000),
        ended(last = 1, millis = 2000),
        AdvanceManualClock(1000),
        ended(last = 1, millis = 2000),
        AddData(left, 2 -> at("10:20")),
        AdvanceManualClock(1000),
        ended(last = 2, millis = 4000),
        CheckNewAnswer(),
        AdvanceManualClock(1000),
        ended(last = 3, millis = 5000),
        CheckNewAnswer((null, "10:00")),
        AdvanceManualClock(1000),
        ended(last = 3, millis = 5000),
        AddData(right, 9 -> at("10:40")),
        AdvanceManualClock(1000),
        ended(last = 4, millis = 7000),
        CheckNewAnswer(),
        AdvanceManualClock(1000),
        ended(last = 5, millis = 8000),
        CheckNewAnswer(("10:00", null), ("10:20", null)),
        AdvanceManualClock(1000),
        ended(last = 5, millis = 8000))
    }
  }
}
