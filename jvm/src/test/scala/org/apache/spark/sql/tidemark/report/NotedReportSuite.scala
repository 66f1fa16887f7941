package org.apache.spark.sql.tidemark.report

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import io.tidemark.{Noted, WatermarkOptions}
import io.tidemark.functions.withWatermark

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.marks.NotedInputs
import org.apache.spark.sql.tidemark.support.{ManualClockTest, MarkLines, MarkLog, RefusalsTest}

/** What a report says of an input whose clocks are the marks of its writers. */
class NotedReportSuite extends RefusalsTest with ManualClockTest {
  import testImplicits._

  private def number(n: Long) = s"""{"number":$n}"""

  private def input(log: MarkLog, maxAhead: String = "none") = {
    val stream = MemoryStream[(String, Timestamp)]
    stream -> marked(stream.toDF().toDF("id", "time"), log, maxAhead)
  }

  private def marked(rows: DataFrame, log: MarkLog, maxAhead: String = "none") = withWatermark(
    rows,
    "time",
    "0 seconds",
    WatermarkOptions(maxAhead = Some(maxAhead), noted = Some(Noted(log.location))))

  private def withLog(test: MarkLog => Unit): Unit =
    withTempDir(folder => test(new MarkLog(new File(folder, "_tidemark"))))

  private def origin(check: JsonNode => Unit): StreamAction = report(all => check(all.get("inputs").get(0)))

  private def codes(report: JsonNode) = report.get("notes").elements.asScala.map(_.get("code").asText).toSeq

  private def triggers(count: Int): StreamAction = Execute { _ =>
    for (_ <- 1 to count) { moveWithin(1000); triggered() }
  }

  test("the report has the time window, and what the next mark of the writer behind waits for") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        Execute { _ =>
          log.note("eu", millis("10:05"), number(0))
          log.note("eu", millis("10:20"), number(1))
          log.note("us", millis("10:00"), number(0))
          log.note("us", millis("10:10"), number(7))
          log.note("uk", millis("09:00"), number(0))
          log.add("uk", s""""k":"end","at":1,"p":${number(0)}""")
        },
        AddData(stream, ("a", at("10:05"))),
        triggers(3),
        origin { origin =>
          val noted = origin.get("noted")
          assert(noted.get("location").asText === log.location)
          assert(noted.get("lower_ms").asLong === millis("10:00"))
          assert(noted.get("upper_ms").asLong === millis("10:20"))
          assert(noted.get("ended").asInt === 1)
          assert(noted.get("promises_broken").get("rows").asLong === 0)
          val us = origin.get("splits").get("worst").get(0)
          assert(us.get("name").asText === "us")
          assert((us.get("mark").get("epoch").asLong, us.get("mark").get("number").asLong) === (1L, 0L))
          assert(us.get("mark").get("last_news_ms").isIntegralNumber && us.get("holds_since_ms").isIntegralNumber)
          val next = us.get("next")
          assert(next.get("time_ms").asLong === millis("10:10"))
          assert(next.get("waits_for").asText === "the source's number")
          assert((next.get("at").asLong, next.get("read").asLong) === (7L, 0L))
          assert(!next.get("is_broken").asBoolean && next.get("far_ahead_ms").isNull)
          assert(origin.get("splits").get("idle_ones").get(0).get("has_ended").asBoolean)
        },
        report(all => assert(codes(all) === Nil)),
        // Ten seconds later nothing has come.
        triggers(12),
        report { all =>
          assert(codes(all) === Seq("MARK_PAST_END", "MARK_PAST_END"))
          val parameters = all.get("notes").elements.asScala.map(_.get("parameters")).toSeq
          assert(parameters.map(_.get("writer").asText).toSet === Set("eu", "us"))
          assert(parameters.map(_.get("position").asText).toSet ===
            Set("the source's number at 1 (read: 0)", "the source's number at 7 (read: 0)"))
        },
        // The rows that one of them waits for arrive.
        AddData(stream, ("b", at("10:06"))),
        triggers(14),
        report { all =>
          assert(codes(all) === Seq("MARK_PAST_END"))
          assert(all.get("notes").get(0).get("parameters").get("writer").asText === "us")
        })
    }
  }

  private def why(code: String, held: String*): StreamAction = report { all =>
    assert(all.get("why").get("code").asText === code, all.get("why"))
    held.foreach(part => assert(all.get("why").get("sentence").asText.contains(part)))
  }

  test("the reason why nothing comes out names the log without writers, and a writer whose mark is not passed") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        AddData(stream, ("a", at("10:05"))),
        triggers(2),
        why("NO_MARKS", "waits for \"time\", and no writer has noted a time in"),
        Execute(_ => log.alive("us")),
        AddData(stream, ("a", at("10:06"))),
        triggers(2),
        why("HELD_BY_SPLIT", "whose writer \"us\" has noted no time yet"),
        Execute { _ =>
          log.note("us", millis("10:04"), number(0))
          log.note("us", millis("10:20"), number(9))
        },
        AddData(stream, ("a", at("10:07"))),
        triggers(3),
        why("FLOWING"),
        triggers(12),
        why("HELD_BY_MARK", "whose writer \"us\" holds it", "waits for the source's number at 9"))
    }
  }

  test("a report names no next window while there is no watermark") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        AddData(stream, ("a", at("10:05"))),
        triggers(2),
        report(all => assert(all.findValues("next_due_ms").isEmpty)),
        Execute(_ => log.note("eu", millis("10:05"), number(0))),
        until(watermarksOf(_).view.get.snapshot.decision.origins.values.head.millis.nonEmpty),
        report(all => assert(all.findValues("next_due_ms").size === 1)))
    }
  }

  test("a row that breaks a promise is counted for its input, in the report and in the progress") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        Execute(_ => log.note("eu", millis("10:10"), number(0))),
        AddData(stream, ("a", at("10:05")), ("b", at("10:15"))),
        triggers(3),
        CheckNewAnswer(1L),
        AddData(stream, ("false", at("10:01")), ("false", at("09:59")), ("c", at("10:16"))),
        triggers(2),
        origin { origin =>
          val broken = origin.get("noted").get("promises_broken")
          assert(broken.get("rows").asLong === 2)
          // The window of the earlier one has ended at 10:00.
          assert(broken.get("most_ms").asLong === 600000)
        },
        Execute { query =>
          val told = query.recentProgress.filter(_.numInputRows > 0).last.observedMetrics.get("tidemark")
          assert(told.getAs[Long]("promises_broken") === 2)
          assert(told.getAs[Long]("promises_broken_time") === 2)
          assert(told.getAs[Long]("late_rows") === 2)
        })
    }
  }

  test("a union of noted and guessed times proves no promise broken, one of two noted times does") {
    withLog { log =>
      val (stream, df) = input(log)
      val (other, guessed) = timed("time", "0 seconds")
      run(counted(df.select("time").union(guessed.select("time")), "time").select("count"))(
        Execute(_ => log.note("eu", millis("10:10"), number(0))),
        AddData(stream, ("a", at("10:05"))),
        AddData(other, 1 -> at("10:30")),
        triggers(3),
        AddData(other, 2 -> at("10:01")),
        triggers(2),
        origin(origin => assert(origin.get("noted").get("promises_broken").isNull)))
    }
    withLog { log =>
      val ((one, first), (two, second)) = (input(log), input(log))
      run(counted(first.union(second), "time").select("count"))(
        Execute(_ => log.note("eu", millis("10:10"), number(0))),
        AddData(one, ("a", at("10:05"))),
        AddData(two, ("b", at("10:15"))),
        triggers(3),
        AddData(two, ("false", at("10:01"))),
        triggers(2),
        // Whose row it was is unknown.
        report { all =>
          for (origin <- all.get("inputs").elements.asScala)
            assert(origin.get("noted").get("promises_broken").get("rows").asLong === 1)
        })
    }
  }

  test("a time that is too far ahead is told with its writer") {
    withLog { log =>
      val (stream, df) = input(log, maxAhead = "1 hour")
      run(counted(df, "time").select("count"))(
        Execute(_ => log.note("eu", 7200000L, number(0))),
        AddData(stream, ("a", at("10:05"))),
        triggers(2),
        report { all =>
          assert(codes(all) === Seq("MARK_FAR_AHEAD"))
          val parameters = all.get("notes").get(0).get("parameters")
          assert(parameters.get("writer").asText === "eu")
          assert(parameters.get("time").asText === "1970-01-01T02:00:00Z")
        })
    }
  }

  test("a missing link of a chain of files, and a file that is never read, are told by name") {
    withLog { log =>
      val folder = log.folder.getParentFile
      def write(file: String): Unit = {
        Files.writeString(new File(folder, file).toPath, s"""{"time":"2024-03-01T10:05:00Z"}\n""")
        ()
      }
      write("1.json")
      write("_2.json")
      new File(folder, "3").mkdir()
      log.note("eu", millis("10:06"), """{"files":["1.json"]}""")
      log.add("us", """"k":"alive","at":0,"p":{"files":[]}""")
      log.note("us", millis("10:05"), """{"files":["1.json","_2.json"]}""")
      for ((writer, name) <- Seq("gone" -> "4.json", "folder" -> "3", "outside" -> "../5.json")) {
        log.add(writer, """"k":"alive","at":0,"p":{"files":[]}""")
        log.note(writer, millis("10:05"), s"""{"files":["$name"]}""")
      }
      log.note("uk", millis("10:04"), """{"files":["1.json"]}""")
      val json = """{"v":1,"w":"uk","e":1,"n":3,"k":"note","t":1709287560000,"at":0,"p":{"files":["1.json"]}}"""
      Files.writeString(new File(log.folder, "uk.1.3-3.marks").toPath, MarkLines.line(json))
      val df = marked(spark.readStream.schema("time timestamp").json(folder.getPath), log)
      val appender = new LogAppender
      withLogAppender(appender)(run(counted(df, "time").select("count"))(
        triggers(15),
        report { all =>
          val notes = all.get("notes").elements.asScala.toSeq.map(_.get("parameters"))
          assert(codes(all).sorted === "MARK_CHAIN_BROKEN" +: Seq.fill(4)("MARK_PAST_END"))
          assert(notes.find(_.get("writer").asText == "uk").map(_.get("number").asText) === Some("3"))
          assert(notes.filter(_.has("position")).map(one =>
            one.get("writer").asText -> one.get("position").asText).toMap === Map(
            "us" -> "file _2.json, whose name the source passes over",
            "folder" -> "file 3, which is a folder",
            "gone" -> "file 4.json, which does not exist",
            "outside" -> "file ../5.json, which is outside the path that is read"))
        },
        triggers(15)))
      // Each writer and mark is told once, with the query, the input, and what is waited for.
      val warnings = appender.loggingEvents.map(_.getMessage.getFormattedMessage).filter(_.contains("MARK_"))
      assert(warnings.size === 5 && warnings.forall(_.startsWith("Tidemark, query ")), warnings.mkString("\n"))
      assert(warnings.forall(_.contains("input 'time'")))
      assert(warnings.count(text =>
        text.contains("'gone'") && text.contains("number 1 of life 1") &&
          text.contains("file 4.json, which does not exist")) === 1)
    }
  }

  test("a missing file is reported in a run that is never at its end, and in a run that ends by itself") {
    for (endsByItself <- Seq(false, true)) withLog { log =>
      val folder = log.folder.getParentFile
      def write(number: Int): Unit = {
        Files.writeString(new File(folder, s"$number.json").toPath, """{"time":"2024-03-01T10:05:00Z"}""")
        ()
      }
      (1 to 20).foreach(write)
      log.note("us", millis("10:05"), """{"files":["gone.json"]}""")
      val rows = spark.readStream.schema("time timestamp").option("maxFilesPerTrigger", 1).json(folder.getPath)
      val counts = counted(marked(rows, log), "time").select("count")
      val appender = new LogAppender
      withLogAppender(appender, Seq(classOf[NotedInputs].getName)) {
        if (endsByItself) counts.writeStream.format("noop").trigger(Trigger.AvailableNow()).start().awaitTermination()
        else run(counts)(triggers(15))
      }
      val warnings = appender.loggingEvents.map(_.getMessage.getFormattedMessage).filter(_.contains("MARK_PAST_END"))
      assert(warnings.count(_.contains("file gone.json, which does not exist")) === 1, s"$endsByItself: $warnings")
    }
  }

  test("a writer without a mark that can be read holds a query, and is told by name") {
    withLog { log =>
      val (stream, df) = input(log)
      run(counted(df, "time").select("count"))(
        Execute { _ =>
          log.note("eu", millis("10:05"), number(0))
          Files.writeString(new File(log.folder, "us.1.0.marks").toPath, "00000000 {}\n")
        },
        AddData(stream, ("a", at("10:01"))),
        triggers(3),
        CheckNewAnswer(),
        report { all =>
          assert(codes(all) === Seq("MARKS_DAMAGED"))
          assert(all.get("notes").get(0).get("parameters").get("writer").asText === "us")
          assert(all.findValues("is_damaged").asScala.exists(_.asBoolean))
        })
    }
  }
}
