package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.sql.Timestamp

import io.tidemark.functions.noteTime

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.tidemark.columns.NoteTime
import org.apache.spark.sql.tidemark.support.NotingQuery

/** What `tidemark_note_time` does in SQL, and in a batch query. */
class NotingSqlSuite extends NotingQuery {
  import testImplicits._

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
}
