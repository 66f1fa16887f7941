package org.apache.spark.sql.tidemark.status

import java.io.File
import java.sql.Timestamp

import io.tidemark.{Idle, Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.tidemark.support.{ManualClockTest, MarkLog}

/** What the log says of writers that are left out, and of those that come back. */
class WriterNewsSuite extends ManualClockTest {
  import testImplicits._

  private def number(n: Long) = s"""{"number":$n}"""

  test("the log says when a writer is left out by its silence, and when it is back behind the watermark") {
    withTempDir { folder =>
      val marks = new MarkLog(new File(folder, "_tidemark"))
      val stream = MemoryStream[(String, Timestamp)]
      val options =
        WatermarkOptions(idle = Idle("1 minute"), maxAhead = Some("none"), noted = Some(Noted(marks.location)))
      val noted = withWatermark(stream.toDF().toDF("id", "time"), "time", "0 seconds", options)
      def batch(note: => Unit): Seq[StreamAction] =
        Seq(Execute(_ => note), AddData(stream, ("a", at("10:31"))), move(1000), move(1000))
      val log = new LogAppender("writers that are left out and return")
      withLogAppender(log, Seq(classOf[SplitNews].getName)) {
        run(noted.dropDuplicates("id", "time").select("id"))(
          batch {
            for (writer <- Seq("eu", "us", "done", "resting")) marks.note(writer, millis("10:00"), number(0))
            marks.add("done", s""""k":"end","at":1,"p":${number(0)}""")
            marks.add("resting", s""""k":"idle","at":1,"p":${number(0)}""")
          } ++ Seq(move(70000)) ++
            batch(marks.note("eu", millis("10:30"), number(1), at = 70000)) ++
            // That it is left out is not news after a restart.
            Seq(StopStream, StartStream()) ++ batch(()) ++ Seq(move(70000)) ++
            batch {
              marks.note("eu", millis("10:31"), number(2), at = 140000)
              marks.note("us", millis("10:10"), number(2), at = 140000)
            }: _*)
      }
      val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage).filter(_.contains("of input \"time\""))
      assert(lines.size === 2, lines)
      assert(lines.head.endsWith(
        "writer \"us\" (clock 2024-03-01T10:00:00Z) of input \"time\" became idle, and the watermark advances without it. " +
          "1 of 4 writers is idle for silence."))
      assert(lines(1).endsWith(
        "writer \"us\" of input \"time\" is back at 2024-03-01T10:10:00Z, 20 minutes behind the watermark. " +
          "Its rows before that are late."))
    }
  }
}
