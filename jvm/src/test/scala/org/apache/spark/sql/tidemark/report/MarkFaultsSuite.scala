package org.apache.spark.sql.tidemark.report

import java.io.File
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.marks.NotedInputs
import org.apache.spark.sql.tidemark.support.{MarkLines, NotedReportTest}

/** What report and log say of marks that are missing, cannot be read, or wait for what never comes. */
class MarkFaultsSuite extends NotedReportTest {

  test("a time that is too far ahead is told with its writer") {
    withLog { log =>
      val (stream, df) = input(log, maxAhead = "1 hour")
      run(counted(df, "time").select("count"))(
        Execute(_ => log.note("eu", 7200000L, number(0))),
        AddData(stream, ("a", at("10:05"))),
        triggers(2),
        report { all =>
          assert(codes(all) === Seq("MARK_FAR_AHEAD"))
          val parameters = all.get("hints").get(0).get("parameters")
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
          val hints = all.get("hints").elements.asScala.toSeq.map(_.get("parameters"))
          assert(codes(all).sorted === "MARK_CHAIN_BROKEN" +: Seq.fill(4)("MARK_PAST_END"))
          assert(hints.find(_.get("writer").asText == "uk").map(_.get("number").asText) === Some("3"))
          assert(hints.filter(_.has("position")).map(hint =>
            hint.get("writer").asText -> hint.get("position").asText).toMap === Map(
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

  test("a query over a folder of what the marks are about is told where their files are") {
    withLog { log =>
      val all = log.folder.getParentFile
      val read = new File(all, "eu")
      read.mkdir()
      Files.writeString(new File(read, "1.json").toPath, """{"time":"2024-03-01T10:05:00Z"}""")
      log.note("us", millis("10:05"), """{"files":["eu/1.json"]}""")
      val df = marked(spark.readStream.schema("time timestamp").json(read.getPath), log)
      run(counted(df, "time").select("count"))(
        triggers(15),
        report { report =>
          val sentence = report.get("why").get("sentence").asText
          assert(sentence.contains("waits for file eu/1.json, which is in "), sentence)
          assert(
            sentence.contains(s"${all.getName}, while the query reads ") && !sentence.contains("idle_after"),
            sentence)
        })
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
          assert(all.get("hints").get(0).get("parameters").get("writer").asText === "us")
          assert(all.findValues("is_damaged").asScala.exists(_.asBoolean))
        })
    }
  }
}
