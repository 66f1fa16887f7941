package org.apache.spark.sql.tidemark.marks

import io.tidemark.Noted
import io.tidemark.functions.timeWindow

import org.apache.spark.sql.tidemark.support.NotedInputTest

/** Noted times at both ends of the clock. */
class NotedClockEndsSuite extends NotedInputTest {
  import testImplicits._

  for (time <- Seq(Long.MaxValue, 10000000000000000L, Long.MaxValue / 1000))
    test(s"a noted time at the end of the clock emits what has been read, also after a restart: $time") {
      withLog { log =>
        val (stream, df) = input(Noted(log.location), delay = "1 minute")
        run(counted(df))(
          mark(log.note("eu", time, number(0))),
          AddData(stream, ("a", at("10:05"))),
          until(watermarkOf("time")(_).exists(_ > millis("23:00"))),
          after(1000),
          CheckNewAnswer(("10:00", 1L)),
          StopStream,
          StartStream(),
          AddData(stream, ("late", at("10:06"))),
          after(1000),
          CheckNewAnswer())
      }
    }

  for (time <- Seq(Long.MinValue, -10000000000000000L, Long.MinValue / 1000))
    test(s"a noted time at the beginning of the clock loses no row, and later times go on from it: $time") {
      withTempDir { checkpoint =>
        withLog { log =>
          val (stream, df) = input(Noted(log.location), delay = "1 minute")
          val lower = df.select(timeWindow($"time").getField("lower").isNull.as("isUnknown"), $"time")
          val start = StartStream(checkpointLocation = checkpoint.getPath)
          run(counted(lower.where($"isUnknown" || $"time" > timeWindow($"time").getField("lower"))))(
            start,
            mark(log.note("eu", time, number(0))),
            AddData(stream, ("a", at("10:05"))),
            until(watermarkOf("time")(_).exists(_ < 0)),
            AddData(stream, ("b", at("10:06"))),
            after(1000),
            StopStream,
            start,
            AddData(stream, ("c", at("10:07"))),
            after(1000),
            CheckNewAnswer(),
            mark(log.note("eu", millis("10:30"), number(2))),
            until(watermarkOf("time")(_).contains(millis("10:29"))),
            after(1000),
            CheckNewAnswer(("10:00", 3L)))
          val entries = spark.sql(s"SELECT unix_micros(watermark) FROM tidemark_log('${checkpoint.getPath}')").collect()
          assert(entries.head.getLong(0) === Long.MinValue && entries.last.getLong(0) === millis("10:29") * 1000)
        }
      }
    }
}
