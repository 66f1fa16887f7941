package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.sql.Timestamp

import io.tidemark.{Idle, Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.commons.io.FileUtils

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{ManualClockTest, MarkLog, MarkLogTest}

/** Writers that were left out and come back, and logs that are away for a while. */
class NotedWritersReturnSuite extends ManualClockTest with MarkLogTest {
  import testImplicits._

  private def withQuery(test: (MarkLog, MemoryStream[(String, Timestamp)], DataFrame) => Unit): Unit =
    withLog { log =>
      val stream = MemoryStream[(String, Timestamp)]
      val options =
        WatermarkOptions(idle = Idle("1 minute"), maxAhead = Some("none"), noted = Some(Noted(log.location)))
      test(
        log,
        stream,
        withWatermark(stream.toDF().toDF("id", "time"), "time", "0 seconds", options).dropDuplicates("id", "time"))
    }

  for (word <- Seq("alive", "the time that it had noted before"))
    test(s"a writer that was idle by its word holds the watermark again when it says $word") {
      withQuery { (log, stream, df) =>
        run(df.select("id"))(
          mark {
            log.note("eu", millis("10:00"), number(0))
            log.note("us", millis("10:00"), number(0))
            log.add("us", s""""k":"idle","at":0,"p":${number(0)}""")
          },
          AddData(stream, ("a", at("10:01"))),
          move(1000),
          originsAre("time" -> Some(millis("10:00"))),
          // Both are found by one batch. The other writer must not pass the one that is back.
          mark {
            if (word == "alive") log.alive("us") else log.note("us", millis("10:00"), number(1))
            log.note("eu", millis("10:30"), number(1))
          },
          AddData(stream, ("b", at("10:31"))),
          move(1000),
          originsAre("time" -> Some(millis("10:00"))),
          AddData(stream, ("late otherwise", at("10:20"))),
          move(1000),
          AddData(stream, ("c", at("10:21"))),
          move(1000),
          CheckAnswer("a", "b", "late otherwise", "c"))
      }
    }

  test("a log that is away for a while leaves no writer out that has marks ahead") {
    withQuery { (log, stream, df) =>
      val kept = new File(log.folder.getParentFile, "kept")
      run(df.select("id"))(
        mark {
          log.note("eu", millis("10:00"), number(0), at = 0)
          log.note("eu", millis("10:10"), number(2), at = 200000)
          log.note("us", millis("10:00"), number(0), at = 0)
          log.note("us", millis("10:30"), number(1), at = 190000)
        },
        AddData(stream, ("a", at("10:01"))),
        move(1000),
        originsAre("time" -> Some(millis("10:00"))),
        mark(FileUtils.moveDirectory(log.folder, kept)),
        StopStream,
        StartStream(),
        AddData(stream, ("b", at("10:02"))),
        move(300000),
        move(1000),
        originsAre("time" -> Some(millis("10:00"))),
        mark(FileUtils.moveDirectory(kept, log.folder)),
        AddData(stream, ("c", at("10:11"))),
        move(1000),
        originsAre("time" -> Some(millis("10:10"))),
        CheckAnswer("a", "b", "c"))
    }
  }

  test("the time that a batch takes is not silence of a writer whose next mark came after the log was read") {
    withQuery { (log, stream, df) =>
      val slow = udf { (id: String) =>
        ManualClockTest.within.getAndSet(() => ())()
        id
      }
      run(df.filter(slow.asNondeterministic()($"id") =!= "").select("id"))(
        mark {
          log.note("eu", millis("10:00"), number(0))
          log.note("us", millis("10:00"), number(0))
        },
        AddData(stream, ("a", at("10:01"))),
        move(1000),
        mark {
          log.note("eu", millis("10:30"), number(1))
          ManualClockTest.within.set(() => moveWithin(120000))
        },
        AddData(stream, ("b", at("10:31"))),
        move(1000),
        AddData(stream, ("c", at("10:31"))),
        move(1000),
        originsAre("time" -> Some(millis("10:00"))),
        CheckAnswer("a", "b", "c"))
    }
  }

  test("a restart with other expected writers, and no others, forgets the rest and keeps the watermark") {
    withTempDir { checkpoint =>
      withQuery { (log, stream, df) =>
        val noted = Noted(Some(log.location), expected = Seq("eu"), onlyExpected = true)
        val only = withWatermark(
          stream.toDF().toDF("id", "time"),
          "time",
          "0 seconds",
          WatermarkOptions(maxAhead = Some("none"), noted = Some(noted))).dropDuplicates("id", "time")
        val start = StartStream(checkpointLocation = checkpoint.getPath)
        run(df.select("id"))(
          start,
          mark {
            log.note("eu", millis("10:10"), number(0))
            log.note("old", millis("10:00"), number(0))
          },
          AddData(stream, ("a", at("10:11"))),
          move(1000),
          originsAre("time" -> Some(millis("10:00"))),
          StopStream)
        run(only.select("id"))(
          start,
          AddData(stream, ("b", at("10:12"))),
          move(1000),
          originsAre("time" -> Some(millis("10:10"))))
      }
    }
  }

  test("a self-join by marks waits for what both of its copies have read") {
    withQuery { (log, stream, df) =>
      val left = df.select($"id", $"time")
      val right = df.select($"id".as("same"), $"time".as("then"))
      run(left.join(right, expr("id = same AND time = then")).select("id"))(
        mark(log.note("eu", millis("10:00"), number(1))),
        AddData(stream, ("a", at("10:01"))),
        move(1000),
        originsAre("time" -> None),
        AddData(stream, ("b", at("10:02"))),
        move(1000),
        originsAre("time" -> Some(millis("10:00"))),
        CheckAnswer("a", "b"))
    }
  }
}
