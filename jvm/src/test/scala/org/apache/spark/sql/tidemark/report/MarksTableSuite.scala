package org.apache.spark.sql.tidemark.report

import java.io.File
import java.nio.file.Files

import io.tidemark.core.noted.{Mark, MarkId, Position}

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.tidemark.support.{MarkLines, WatermarkTest}

/** The function `tidemark_marks` shows a mark log as a table. */
class MarksTableSuite extends WatermarkTest {
  import MarkLines._

  private def marks(folder: File): DataFrame = spark.sql(s"SELECT * FROM tidemark_marks('${folder.getCanonicalPath}')")

  private def write(folder: File, name: String, lines: String*): Unit = {
    val _ = Files.writeString(folder.toPath.resolve(name), lines.mkString)
  }

  private def note(number: Long, epoch: Long = 1): Mark = Mark(
    "eu",
    epoch,
    number,
    Mark.Note,
    Some(1000 * number),
    1704067200000L,
    Some(Position.Kafka(Map("orders" -> Map(1 -> number, 0 -> 7L)))),
    mostMillis = Some(1000 * number - 1))

  test("tidemark_marks returns one row for each mark, in whatever files it is") {
    withTempDir { folder =>
      write(folder, "eu.1.0-1.marks", line(note(0)), line(note(1)))
      write(folder, "eu.1.0.marks", line(note(1)), line(note(2)))
      write(folder, "eu.1.1.marks", line(note(2)), line(note(3)))
      write(
        folder,
        "eu.2.0.marks",
        line(note(0, epoch = 2).copy(
          kind = Mark.Alive,
          timeMillis = None,
          position = None,
          mostMillis = None,
          after = Some(MarkId(1, 2)))))
      write(folder, "other.txt", "text")
      val rows = marks(folder).orderBy("epoch", "number")
        .selectExpr(
          "writer",
          "epoch",
          "number",
          "kind",
          "unix_millis(time)",
          "time_millis",
          "unix_millis(written)",
          "position_kind",
          "position",
          "unix_millis(max_time)",
          "skipped").collect().toSeq
      assert(rows === (0L to 3).map { n =>
        val position = s"""{"kafka":{"orders":{"0":7,"1":$n}}}"""
        Row("eu", 1L, n, "note", n * 1000, n * 1000, 1704067200000L, "kafka", position, n * 1000 - 1, null)
      } :+ Row("eu", 2L, 0L, "alive", null, null, 1704067200000L, null, null, null, null))
    }
  }

  test("tidemark_marks returns a row for each line that cannot be used, and says why") {
    withTempDir { folder =>
      write(folder, "eu.1.0.marks", line(note(0)), "damaged\n", line("[1]"), line(note(1)).trim)
      val skipped = marks(folder).where("kind = 'skipped'").orderBy("skipped")
        .select("writer", "epoch", "number", "time", "skipped").collect().toSeq
      assert(skipped === Seq(
        Row("eu", 1L, null, null, "line 2 of eu.1.0.marks: checksum"),
        Row("eu", 1L, null, null, "line 3 of eu.1.0.marks: json"),
        Row("eu", 1L, null, null, "line 4 of eu.1.0.marks: torn")))
      assert(marks(folder).where("skipped IS NULL").count() === 1)
    }
  }

  test("tidemark_marks returns a time that is none of the calendar as a number only") {
    withTempDir { folder =>
      for ((time, at) <- Seq(Long.MinValue, Long.MaxValue).zipWithIndex)
        write(folder, s"eu.$at.0.marks", line(note(0, at).copy(timeMillis = Some(time), writtenMillis = Long.MaxValue)))
      val rows = marks(folder).orderBy("epoch").select("time", "time_millis", "written").collect().toSeq
      assert(rows === Seq(Row(null, Long.MinValue, null), Row(null, Long.MaxValue, null)))
    }
  }

  test("tidemark_marks reads more lives than it has tasks") {
    withTempDir { folder =>
      for (writer <- 0 until 50; epoch <- 1 to 2)
        write(folder, s"w$writer.$epoch.0.marks", line(note(0, epoch).copy(writer = s"w$writer")))
      assert(marks(folder).select("writer", "epoch").distinct().count() === 100)
      assert(marks(folder).count() === 100)
    }
  }

  test("tidemark_marks returns no rows for an empty folder, and refuses what is not a folder") {
    withTempDir { folder =>
      assert(marks(folder).collect().toSeq === Nil)
      write(folder, "file", "")
      val places = Seq(
        new File(folder, "missing").getPath,
        new File(folder, "file").getPath,
        "",
        "no:such:place",
        "nosuchscheme://x/y")
      for (place <- places)
        assertRefused("NO_MARK_LOG", "location" -> place)(spark.sql(s"SELECT * FROM tidemark_marks('$place')"))
    }
  }

  test("tidemark_marks refuses what is not a topic, and needs brokers and Spark's Kafka connector for one that is") {
    def marks(arguments: String) = spark.sql(s"SELECT * FROM tidemark_marks($arguments)")
    val brokers = "map('kafka.bootstrap.servers', 'nowhere:9092')"
    assertRefused("NO_MARK_LOG", "location" -> "kafka:marks/orders")(marks("'kafka:marks/orders'"))
    assertRefused("NO_MARK_LOG", "location" -> "kafka:no topic")(marks(s"'kafka:no topic', $brokers"))
    assertRefused("NO_KAFKA_CONNECTOR")(marks(s"'kafka:marks/orders', $brokers"))
  }

  test("tidemark_marks accepts a constant string, and a map of options") {
    for (arguments <- Seq("", "1", "NULL", "CAST(NULL AS STRING)", "'a', 'b'", "'a', map('b', 1)", "'a', map(), 'c'"))
      withClue(arguments)(assertRefused("WRONG_ARGUMENTS")(spark.sql(s"SELECT * FROM tidemark_marks($arguments)")))
  }
}
