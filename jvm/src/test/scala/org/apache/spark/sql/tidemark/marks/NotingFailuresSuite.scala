package org.apache.spark.sql.tidemark.marks

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import io.tidemark.NoteTimeOptions
import io.tidemark.core.noted.{MarkId, Position}
import io.tidemark.functions.noteTime

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.tidemark.noted.MarkWriter
import org.apache.spark.sql.tidemark.support.{MarkLines, WatermarkTest}

/** Marks that cannot be written at first, or must not be written at all. */
class NotingFailuresSuite extends WatermarkTest {
  import testImplicits._

  private def rows(stream: MemoryStream[Timestamp]): DataFrame =
    stream.toDF().toDF("time").withWatermark("time", "1 minute")

  private def start(df: DataFrame, folder: File, format: String, options: (String, String)*): StreamingQuery =
    df.writeStream.format(format).options(options.toMap)
      .option("checkpointLocation", new File(folder, "checkpoint").getPath).start()

  private def noted(log: File): Seq[Long] =
    MarkLines.folder(log.toPath).list().flatMap { file =>
      val found = Seq.newBuilder[Long]
      MarkLines.folder(log.toPath).read(file.name)((_, line) => found ++= line.toSeq.flatMap(_.timeMillis))
      found.result()
    }.distinct.sorted

  private def runToEnd(query: StreamingQuery): Unit =
    try query.processAllAvailable()
    finally query.stop()

  test("a mark that could not be written is written when the query ends, if not before") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      // A file where the folder should be.
      Files.writeString(log.toPath, "in the way")
      val stream = MemoryStream[Timestamp]
      val query = start(
        noteTime(rows(stream), "time", NoteTimeOptions(log.getPath)),
        folder,
        "parquet",
        "path" -> new File(folder, "out").getPath)
      try {
        stream.addData(at("11:00"))
        query.processAllAvailable()
        Files.delete(log.toPath)
      } finally query.stop()
      eventually(timeout(streamingTimeout))(assert(noted(log) === Seq(millis("10:59"))))
    }
  }

  test("Kafka that may lose acknowledged rows is refused by name") {
    withTempDir { folder =>
      val stream = MemoryStream[Timestamp]
      stream.addData(at("11:00"))
      val df = noteTime(rows(stream), "time", NoteTimeOptions(new File(folder, "log").getPath))
      for (acks <- Seq("0", "1"))
        assertQueryRefused("NOTE_TIME_SINK_UNKNOWN", "column" -> "time", "sink" -> s"Kafka with kafka.acks=$acks") {
          runToEnd(start(
            df,
            new File(folder, acks),
            "org.apache.spark.sql.kafka010.PretendedKafka",
            "topic" -> "t",
            "kafka.acks" -> acks))
        }
      assert(noted(new File(folder, "log")).isEmpty)
    }
  }

  test("a topic needs brokers and Spark's Kafka connector, and a query that lacks one of them ends with its name") {
    withTempDir { folder =>
      def run(options: NoteTimeOptions): Unit = {
        val stream = MemoryStream[Timestamp]
        stream.addData(at("11:00"))
        val path = "path" -> new File(folder, "out").getPath
        runToEnd(start(noteTime(rows(stream), "time", options), folder, "parquet", path))
      }
      val topic = NoteTimeOptions("kafka:marks/orders")
      val reason = "has the mark log kafka:marks/orders, but no option kafka.bootstrap.servers"
      assertQueryRefused("INVALID_NOTE_TIME", "reason" -> reason)(run(topic))
      val brokers = Map("kafka.bootstrap.servers" -> "nowhere:9092")
      for (options <- Seq(topic.copy(toOptions = brokers), topic.copy(positionOptions = brokers)))
        assertQueryRefused("NO_KAFKA_CONNECTOR", "location" -> "kafka:marks/orders")(run(options))
      for (wrong <- Seq("kafka:", "kafka:/orders", "kafka:marks/", "kafka:two words", "kafka://marks/orders"))
        withClue(wrong)(assertRefused("INVALID_NOTE_TIME")(run(NoteTimeOptions(wrong).copy(toOptions = brokers))))
    }
  }

  test("the topic of the rows is not a mark log") {
    withTempDir { folder =>
      val stream = MemoryStream[Timestamp]
      stream.addData(at("11:00"))
      val brokers = Map("kafka.bootstrap.servers" -> "here:9092")
      def run(options: NoteTimeOptions, name: String): Unit = {
        val to = "org.apache.spark.sql.kafka010.PretendedKafka"
        val df = noteTime(rows(stream), "time", options)
        runToEnd(start(df, new File(folder, name), to, (brokers + ("topic" -> "orders")).toSeq: _*))
      }
      val same = NoteTimeOptions("kafka:orders/marks")
      val positioned = same.copy(position = Some("kafka:a, orders"), positionOptions = brokers)
      val reason = "has the mark log kafka:orders/marks in a topic that has the rows"
      for ((options, name) <- Seq(same -> "sink", positioned -> "position"))
        assertQueryRefused("INVALID_NOTE_TIME", "reason" -> reason)(run(options, name))
      // Other brokers may have a topic of the name.
      val elsewhere = same.copy(toOptions = Map("kafka.bootstrap.servers" -> "there:9092"))
      assertQueryRefused("NO_KAFKA_CONNECTOR", "location" -> "kafka:orders/marks")(run(elsewhere, "elsewhere"))
    }
  }

  test("a writer whose name is too long for a file is refused by name") {
    withTempDir { folder =>
      assert(MarkWriter.isName("x" * 160) && !MarkWriter.isName("x" * 161))
      // Each byte of such a character takes three in a file's name.
      assert(MarkWriter.isName("ü" * 26) && !MarkWriter.isName("ü" * 27) && !MarkWriter.isName(""))
      val stream = MemoryStream[Timestamp]
      stream.addData(at("11:00"))
      val options = NoteTimeOptions(new File(folder, "log").getPath).copy(writer = Some("ü" * 27))
      val path = "path" -> new File(folder, "out").getPath
      val reason = s"has a writer whose name is too long, '${"ü" * 27}'"
      assertQueryRefused("INVALID_NOTE_TIME", "reason" -> reason) {
        runToEnd(start(noteTime(rows(stream), "time", options), folder, "parquet", path))
      }
    }
  }

  test("a new life reads no older marks than it needs: the newest with a time") {
    withTempDir { folder =>
      def line(number: Int, rest: String) = MarkLines.line(s"""{"v":1,"w":"w","e":5,"n":$number,"at":0,$rest}""")
      def note(number: Int, time: Long) = line(number, s""""k":"note","t":$time,"p":{"number":$number}""")
      def put(name: String, lines: String*) = Files.writeString(new File(folder, name).toPath, lines.mkString)
      // A time that no writer could have noted before the others shows whether the file is read.
      put("w.5.0-1.marks", note(0, 900), note(1, 901))
      put("w.5.2-3.marks", note(2, 100), note(3, 101))
      put("w.5.4-4.marks", line(4, """"k":"alive""""))
      put("w.5.0.marks", line(5, """"k":"alive""""))
      val writer = MarkWriter.inFolder(folder.getPath, spark.sessionState.newHadoopConf(), "w", () => 7L)
      writer.note(Some(102L), idle = false, Position.Number(6))
      assert(writer.timeMillis === Some(102L))
      val marks = Seq.newBuilder[io.tidemark.core.noted.Mark]
      MarkLines.folder(folder.toPath).list().filter(_.name.epoch == 7).foreach { file =>
        MarkLines.folder(folder.toPath).read(file.name)((_, line) => marks ++= line.toSeq)
      }
      assert(marks.result().flatMap(_.after).distinct === Seq(MarkId(5, 5)))
    }
  }
}
