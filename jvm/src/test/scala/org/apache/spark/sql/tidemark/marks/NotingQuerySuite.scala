package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.sql.Timestamp

import io.tidemark.{Noted, NoteTimeOptions, WatermarkOptions}
import io.tidemark.functions.{noteTime, withWatermark}

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.NotingQuery

/** A query that notes how far its output is, and a query whose watermark follows it. */
class NotingQuerySuite extends NotingQuery {
  import testImplicits._

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

  private def lastMark(log: File) = histories(log).head.marks.last
}
