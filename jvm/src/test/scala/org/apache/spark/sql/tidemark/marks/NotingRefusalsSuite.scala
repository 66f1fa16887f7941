package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.sql.Timestamp

import io.tidemark.NoteTimeOptions
import io.tidemark.functions.noteTime

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.NotingQuery

/** Queries that cannot note their time, and how each is refused. */
class NotingRefusalsSuite extends NotingQuery {
  import testImplicits._

  test("a query that cannot note its time is refused by name") {
    val stream = MemoryStream[Timestamp]
    stream.addData(at("11:00"))
    val rows = stream.toDF().toDF("time").withWatermark("time", "1 minute")
    withTempDir { folder =>
      def run(df: DataFrame, mode: String = "append", sink: String = "parquet"): Unit = {
        val writer = df.writeStream.format(sink).outputMode(mode)
          .option("checkpointLocation", new File(folder, java.util.UUID.randomUUID().toString).getPath)
        val query = if (sink == "parquet") writer.start(new File(folder, "out").getPath) else writer.start()
        try query.processAllAvailable()
        finally query.stop()
      }
      val log = to(new File(folder, "log"))
      val windows = rows.groupBy(window($"time", "1 hour")).count()
      assertRefused("NOTE_TIME_NOT_EVENT_TIME", "column" -> "other") {
        noteTime(rows.withColumn("other", $"time" + expr("INTERVAL 1 HOUR")), "other", log)
      }
      assertRefused("NOTE_TIME_NOT_EVENT_TIME", "column" -> "start") {
        noteTime(windows.select("window.start"), "start", log)
      }
      assertRefused("NOTE_TIME_DROPPED", "column" -> "time") {
        run(noteTime(rows, "time", log).groupBy(window($"time", "1 hour")).count())
      }
      assertRefused("NOTE_TIME_COMPLETE_MODE", "column" -> "window") {
        run(noteTime(windows, "window", log), "complete", "noop")
      }
      val ((left, ordered), (right, paid)) = (timed("ordered", "1 minute"), timed("paid", "1 minute", "of"))
      Seq(left, right).foreach(_.addData(1 -> at("11:00")))
      assertQueryRefused("NOTE_TIME_NOT_PROMISED", "column" -> "ordered") {
        run(noteTime(ordered.join(paid, $"id" === $"of"), "ordered", log))
      }
      rows.createOrReplaceTempView("rows_to_note")
      val inside = spark.sql(
        """WITH a AS (SELECT tidemark_note_time(time, '{"to": "/log"}') AS time FROM rows_to_note)
          SELECT * FROM a UNION ALL SELECT * FROM a""")
      assertRefused("NOTE_TIME_DROPPED", "column" -> "time")(run(inside))
      // The next one is found with the first row; the others before the query starts.
      assertQueryRefused("NOTE_TIME_SINK_UNKNOWN", "column" -> "time")(run(noteTime(rows, "time", log), sink = "noop"))
      assertRefused("INVALID_NOTE_TIME")(run(noteTime(noteTime(rows, "time", log), "time", log)))
      assertRefused("INVALID_NOTE_TIME")(noteTime(rows, "time", NoteTimeOptions("kafka:")))
      assertRefused("INVALID_NOTE_TIME")(spark.sql("SELECT tidemark_note_time(now(), '{}')").collect())
    }
  }
}
