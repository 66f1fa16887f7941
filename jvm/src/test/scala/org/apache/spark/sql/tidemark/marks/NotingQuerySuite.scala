package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.sql.Timestamp

import io.tidemark.{Noted, NoteTimeOptions, WatermarkOptions}
import io.tidemark.functions.{noteTime, withWatermark}

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.tidemark.columns.NoteTime
import org.apache.spark.sql.tidemark.noted.{MarkFolder, MarkLogReader}
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** A query that notes how far its output is, and a query whose watermark follows it. */
class NotingQuerySuite extends WatermarkTest {
  import testImplicits._

  private def hourly(rows: DataFrame): DataFrame =
    rows.toDF("time").withWatermark("time", "10 minutes").groupBy(window($"time", "1 hour")).count()

  private def noted(log: File): Seq[(String, Option[Long])] =
    histories(log).map(history => history.writer -> history.lastNote(history.marks.size).map(_._2))

  private def write(df: DataFrame, folder: File): StreamingQuery =
    df.writeStream.format("parquet").option("checkpointLocation", new File(folder, "a").getPath)
      .start(new File(folder, "out").getPath)

  test("a query that writes files notes its watermark, and another query uses it") {
    withTempDir { folder =>
      val log = new File(folder, "out/_tidemark")
      val stream = MemoryStream[Timestamp]
      val first = write(noteTime(hourly(stream.toDF()), "window"), folder)
      try {
        stream.addData(at("11:05"), at("11:50"), at("12:20"))
        first.processAllAvailable()
        assert(noted(log) == Seq(first.id.toString -> Some(millis("12:10"))))
        val results = spark.readStream.schema("window struct<start timestamp, end timestamp>, count long")
          .parquet(new File(folder, "out").getPath).select($"window.end".as("time"), $"count")
        val second = withWatermark(results, "time", "0 seconds", WatermarkOptions(noted = Some(Noted())))
          .groupBy("time").agg(sum("count").as("rows"))
          .select(date_format($"time", "HH:mm"), $"rows")
          .writeStream.format("memory").queryName("second")
          .option("checkpointLocation", new File(folder, "b").getPath).start()
        try {
          second.processAllAvailable()
          assert(spark.table("second").as[(String, Long)].collect().toSeq == Seq("12:00" -> 2L))
        } finally second.stop()
      } finally first.stop()
    }
  }

  test("a query notes its time under its name, and without a name under its id") {
    for (name <- Seq(Some("hourly orders"), None)) withTempDir { folder =>
      val stream = MemoryStream[Timestamp]
      val df =
        noteTime(stream.toDF().toDF("time").withWatermark("time", "1 minute"), "time", to(new File(folder, "log")))
      val writer = df.writeStream.format("parquet").option("checkpointLocation", new File(folder, "a").getPath)
      val query = name.fold(writer)(writer.queryName).start(new File(folder, "out").getPath)
      try {
        stream.addData(at("11:05"))
        query.processAllAvailable()
      } finally query.stop()
      assert(noted(new File(folder, "log")).map(_._1) == Seq(name.getOrElse(query.id.toString)))
    }
  }

  test("a query without state notes what it has seen in the same batch") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val stream = MemoryStream[Timestamp]
      def run(): Unit = {
        val query =
          write(noteTime(stream.toDF().toDF("time").withWatermark("time", "1 minute"), "time", to(log)), folder)
        try query.processAllAvailable()
        finally query.stop()
      }
      stream.addData(at("11:05"), at("11:50"))
      run()
      assert(noted(log).map(_._2) == Seq(Some(millis("11:49"))))
    }
  }

  test("a time that could not be noted is noted by the next run, although it has no rows") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      java.nio.file.Files.createFile(log.toPath)
      val stream = MemoryStream[Timestamp]
      def run(check: => Unit): Unit = {
        val query =
          write(noteTime(stream.toDF().toDF("time").withWatermark("time", "1 minute"), "time", to(log)), folder)
        try { query.processAllAvailable(); check }
        finally query.stop()
      }
      stream.addData(at("11:05"), at("11:50"))
      run {
        val id = spark.streams.active.head.id
        val report = spark.sql(s"SELECT tidemark_report('$id')").as[String].head()
        assert(new ObjectMapper().readTree(report).get("outputs").get(0).get("failures").asInt > 0)
      }
      log.delete()
      withSQLConf(SQLConf.STREAMING_NO_DATA_PROGRESS_EVENT_INTERVAL.key -> "0") {
        run(eventually(timeout(streamingTimeout))(assert(noted(log).map(_._2) == Seq(Some(millis("11:49"))))))
      }
    }
  }

  test("a query of files without state notes its time, although the optimizer renames its columns") {
    withTempDir { folder =>
      val in = new File(folder, "in")
      Seq(at("11:50")).toDF("time").write.parquet(in.getPath)
      val rows = spark.readStream.schema("time timestamp").parquet(in.getPath).withWatermark("time", "1 minute")
      val log = new File(folder, "log")
      val query = write(noteTime(rows, "time", to(log)).select(lit(1).as("one")), folder)
      try {
        query.processAllAvailable()
        assert(noted(log).map(_._2) == Seq(Some(millis("11:49"))))
      } finally query.stop()
    }
  }

  test("a query notes a time that is earlier by a given length, under a given name") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val stream = MemoryStream[Timestamp]
      val options = NoteTimeOptions(to = Some(log.getPath), writer = Some("hourly"), less = Some("1 hour"))
      val query = write(noteTime(hourly(stream.toDF()), "window", options).select("window.start", "count"), folder)
      try {
        stream.addData(at("11:05"), at("12:20"))
        query.processAllAvailable()
        assert(noted(log) == Seq("hourly" -> Some(millis("11:10"))))
      } finally query.stop()
    }
  }

  test("a query notes the watermark of a union whose window it then drops") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val (first, other) = (MemoryStream[Timestamp], MemoryStream[Timestamp])
      val both = hourly(first.toDF()).union(hourly(other.toDF()))
      val query = write(noteTime(both, "window", to(log)).select("count"), folder)
      try {
        first.addData(at("11:05"), at("12:20"))
        query.processAllAvailable()
        assert(noted(log).forall(_._2.isEmpty))
        other.addData(at("11:05"), at("12:00"))
        query.processAllAvailable()
        assert(noted(log).map(_._2) == Seq(Some(millis("11:50"))))
      } finally query.stop()
    }
  }

  test("a batch that foreachBatch writes is noted once it is committed") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val table = new File(folder, "table/_delta_log")
      table.mkdirs()
      def commit(version: Int, text: String): Unit =
        java.nio.file.Files.writeString(new File(table, f"$version%020d.json").toPath, text)
      commit(0, """{"metaData":{"id":"the-table"}}""")
      val stream = MemoryStream[Timestamp]
      val options = NoteTimeOptions(to = Some(log.getPath), position = Some(s"delta:${table.getParent}"))
      stream.addData(at("11:05"), at("12:20"))
      val before = scala.collection.mutable.Buffer.empty[Option[Long]]
      val query = noteTime(hourly(stream.toDF()), "window", options).writeStream
        .foreachBatch { (rows: org.apache.spark.sql.Dataset[org.apache.spark.sql.Row], batch: Long) =>
          before += noted(log).headOption.flatMap(_._2)
          rows.collect()
          commit(batch.toInt + 1, "{}")
        }
        .option("checkpointLocation", new File(folder, "a").getPath).trigger(Trigger.AvailableNow()).start()
      query.awaitTermination()
      assert(before.forall(_.isEmpty))
      assert(noted(log).map(_._2) == Seq(Some(millis("12:10"))))
      val position = lastMark(log).position
      assert(position.contains(io.tidemark.core.noted.Position.Delta("the-table", before.size.toLong)))
    }
  }

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
      assertRefused("NOTE_TIME_NOT_PROMISED", "column" -> "ordered") {
        run(noteTime(ordered.join(paid, $"id" === $"of"), "ordered", log))
      }
      rows.createOrReplaceTempView("rows_to_note")
      val inside = spark.sql(
        """WITH a AS (SELECT tidemark_note_time(time, '{"to": "/log"}') AS time FROM rows_to_note)
          SELECT * FROM a UNION ALL SELECT * FROM a""")
      assertRefused("NOTE_TIME_DROPPED", "column" -> "time")(run(inside))
      // The next one is found with the first row; the others before the query starts.
      assertRefused("NOTE_TIME_SINK_UNKNOWN", "column" -> "time")(run(noteTime(rows, "time", log), sink = "noop"))
      assertRefused("INVALID_NOTE_TIME")(run(noteTime(noteTime(rows, "time", log), "time", log)))
      assertRefused("INVALID_NOTE_TIME")(noteTime(rows, "time", NoteTimeOptions("kafka:")))
      assertRefused("INVALID_NOTE_TIME")(spark.sql("SELECT tidemark_note_time(now(), '{}')").collect())
    }
  }

  test("a batch query with note_time gives the same rows, and notes nothing") {
    withTempDir { log =>
      val rows = Seq(at("11:00")).toDF("time")
      assert(noteTime(rows, "time", to(log)).as[Timestamp].collect().toSeq == Seq(at("11:00")))
      assert(log.list().isEmpty)
    }
  }

  test("SQL notes the time of a window in an aggregation, and of a common table expression") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val stream = MemoryStream[Timestamp]
      stream.toDF().toDF("time").withWatermark("time", "10 minutes").createOrReplaceTempView("readings")
      val query = write(
        spark.sql(s"""WITH hours AS (
          SELECT tidemark_note_time(window, '{"to": "${log.getPath}"}') AS hour, count(*) AS n FROM readings
          GROUP BY window(time, '1 hour'))
          SELECT hour.start, n FROM hours WHERE n > 0"""),
        folder)
      try {
        stream.addData(at("11:05"), at("12:20"))
        query.processAllAvailable()
        assert(noted(log).map(_._2) == Seq(Some(millis("12:10"))))
      } finally query.stop()
    }
  }

  test("SQL groups by the alias or the ordinal of what it notes, and has HAVING as well") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val stream = MemoryStream[Timestamp]
      stream.toDF().toDF("time").withWatermark("time", "10 minutes").createOrReplaceTempView("readings")
      def counted(group: String) = spark.sql(
        s"""SELECT tidemark_note_time(window(time, '1 hour'), '{"to": "${log.getPath}"}') AS hour, count(*) AS n
          FROM readings GROUP BY $group""")
      for (group <-
          Seq("hour", "1", "window(time, '1 hour') HAVING count(*) > 1", "1 HAVING n > 1 AND max(time) > '2024-01-01'"))
        assert(counted(group).queryExecution.analyzed.exists(_.isInstanceOf[NoteTime]), group)
      val query = write(counted("hour HAVING count(*) > 1").select("hour.start", "n"), folder)
      try {
        stream.addData(at("11:05"), at("11:06"), at("12:20"))
        query.processAllAvailable()
        assert(noted(log).map(_._2) == Seq(Some(millis("12:10"))))
        checkAnswer(spark.read.parquet(new File(folder, "out").getPath), Row(at("11:00"), 2L))
      } finally query.stop()
    }
  }

  private def to(log: File) = NoteTimeOptions(log.getPath)

  private def histories(log: File) =
    new MarkLogReader(new MarkFolder(new org.apache.hadoop.fs.Path(log.getPath), spark.sessionState.newHadoopConf()))
      .read().histories.values.toSeq

  private def lastMark(log: File) = histories(log).head.marks.last

}
