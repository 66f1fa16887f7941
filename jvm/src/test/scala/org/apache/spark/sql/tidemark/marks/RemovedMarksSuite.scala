package org.apache.spark.sql.tidemark.marks

import java.io.{File, IOException}
import java.nio.file.{Files, StandardCopyOption}
import java.sql.Timestamp

import io.tidemark.NoteTimeOptions
import io.tidemark.core.noted.{Mark, MarkId, Position}
import io.tidemark.functions.noteTime

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.tidemark.noted.{MarkLogReader, MarkWriter}
import org.apache.spark.sql.tidemark.support.{MarkLines, WatermarkTest}
import org.apache.spark.util.Utils

/** A mark log that is removed, moved or damaged while somebody notes in it. */
class RemovedMarksSuite extends WatermarkTest {
  import testImplicits._

  private def at(number: Long): Position = Position.Number(number)

  private def marks(log: File): Seq[Mark] =
    new MarkLogReader(MarkLines.folder(log.toPath)).read().histories.values.flatMap(_.marks).toSeq

  private def times(log: File): Seq[Long] = marks(log).flatMap(_.timeMillis)

  /** A writer `w` whose clock stands still unless it is set, and what it warns of. */
  private final class Noting(log: File) {
    var nowMillis = 100L
    var warnings = Seq.empty[String]
    val writer: MarkWriter = MarkWriter.inFolder(
      log.getPath,
      spark.sessionState.newHadoopConf(),
      "w",
      () => nowMillis,
      message => warnings :+= message)

    def note(time: Long): Unit = writer.note(Some(time), idle = false, at(time))
  }

  test("a writer whose log was removed begins a new life with its next mark, and says so once") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val noting = new Noting(log)
      noting.note(7)
      for ((time, isEmptied) <- Seq(10L -> true, 20L -> false)) {
        if (isEmptied) log.listFiles.foreach(_.delete()) else Utils.deleteRecursively(log)
        // Its clock has gone back. A reader looks for no smaller epoch than it knows.
        noting.nowMillis -= 50
        noting.note(time)
        assert(times(log) === Seq(time))
        noting.note(time + 1)
        assert(times(log) === Seq(time, time + 1))
      }
      assert(marks(log).map(_.epoch).distinct === Seq(102L))
      assert(noting.warnings.size === 2 && noting.warnings.forall(_.contains(s"writer 'w' in $log")))
    }
  }

  test("a time is noted again where it has gone, and a quiet writer finds out when it says that it is alive") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val noting = new Noting(log)
      noting.note(7)
      Utils.deleteRecursively(log)
      noting.note(7)
      assert(!log.exists)
      noting.nowMillis += 20000
      noting.note(7)
      assert(times(log) === Seq(7L))
    }
  }

  test("a writer that was fenced off stays so, also when all marks are removed one by one") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val old = new Noting(log)
      old.note(7)
      val young = new Noting(log)
      young.note(8)
      intercept[MarkWriter.Fenced](old.note(9))
      log.listFiles.filter(_.getName.contains(".100.")).foreach(_.delete())
      intercept[MarkWriter.Fenced](old.note(9))
      assert(old.warnings.isEmpty && times(log).max === 8L)
    }
  }

  test("a log that cannot be reached is tried again, and the marks that are back are the writer's own") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val away = new File(folder, "away")
      val noting = new Noting(log)
      noting.note(7)
      Files.move(log.toPath, away.toPath, StandardCopyOption.ATOMIC_MOVE)
      // Something that is not a folder is in its place, so no file in it can be asked for.
      Files.writeString(log.toPath, "in the way")
      intercept[IOException](noting.note(8))
      intercept[IOException](noting.note(9))
      Files.delete(log.toPath)
      Files.move(away.toPath, log.toPath, StandardCopyOption.ATOMIC_MOVE)
      noting.note(9)
      assert(times(log) === Seq(7L, 9L) && noting.warnings.isEmpty)
    }
  }

  test("a log that is moved away for longer, and then back, has the lives in order") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val away = new File(folder, "away")
      val noting = new Noting(log)
      noting.note(7)
      Files.move(log.toPath, away.toPath, StandardCopyOption.ATOMIC_MOVE)
      noting.note(8)
      Utils.deleteRecursively(log)
      Files.move(away.toPath, log.toPath, StandardCopyOption.ATOMIC_MOVE)
      noting.note(9)
      assert(times(log) === Seq(7L, 9L))
      assert(marks(log).flatMap(_.after) === Seq(MarkId(100, 1)))
    }
  }

  test("a query notes again when its mark log was removed while it ran") {
    withTempDir { folder =>
      val log = new File(folder, "log")
      val stream = MemoryStream[Timestamp]
      val rows = stream.toDF().toDF("time").withWatermark("time", "1 minute")
      val query = noteTime(rows, "time", NoteTimeOptions(log.getPath)).writeStream.format("parquet")
        .option("checkpointLocation", new File(folder, "checkpoint").getPath)
        .start(new File(folder, "out").getPath)
      try {
        stream.addData(at("11:00"))
        query.processAllAvailable()
        assert(times(log) === Seq(millis("10:59")))
        Utils.deleteRecursively(log)
        val appender = new LogAppender
        withLogAppender(appender) {
          stream.addData(at("12:00"))
          query.processAllAvailable()
        }
        assert(times(log) === Seq(millis("11:59")))
        val lines = appender.loggingEvents.map(_.getMessage.getFormattedMessage).filter(_.contains("begins a new life"))
        assert(lines.size === 1 && lines.head.contains(query.id.toString) && lines.head.contains(log.getPath))
      } finally query.stop()
    }
  }

  /** The names of the files after a new life has begun over what is in a log. */
  private def sealedAfter(files: (String, String)*): Seq[String] = {
    var names = Seq.empty[String]
    withTempDir { folder =>
      files.foreach { case (name, text) => Files.writeString(new File(folder, name).toPath, text) }
      val noting = new Noting(folder)
      noting.note(50)
      names = folder.list.filter(_.contains("-")).sorted.toSeq ++
        marks(folder).flatMap(_.after).map(place => s"after ${place.epoch}.${place.number}")
    }
    names
  }

  private def line(number: Int): String =
    MarkLines.line(s"""{"v":1,"w":"w","e":5,"n":$number,"k":"note","t":$number,"at":0,"p":{"files":["$number"]}}""")

  private val damaged = "0" + line(0)

  test("the name of a sealed file says which marks the live files of an earlier life had, also unreadable ones") {
    assert(sealedAfter("w.5.0.marks" -> (line(0) + line(1))) === Seq("w.5.0-1.marks", "after 5.1"))
    // The first lines of both files, then the last ones.
    val beginning = damaged + damaged + line(2)
    assert(sealedAfter("w.5.0.marks" -> beginning, "w.5.1.marks" -> beginning) === Seq("w.5.0-2.marks", "after 5.2"))
    assert(sealedAfter("w.5.0.marks" -> (line(0) + damaged + damaged)) === Seq("w.5.0-2.marks", "after 5.2"))
    // Another file has what the one has lost.
    assert(sealedAfter("w.5.0.marks" -> (damaged + line(1)), "w.5.1.marks" -> line(0)) ===
      Seq("w.5.0-1.marks", "after 5.1"))
    // A file without a readable mark had one mark for each of its lines, behind those that are sealed.
    assert(sealedAfter("w.5.0.marks" -> (damaged + damaged)) === Seq("w.5.0-1.marks", "after 5.1"))
    assert(sealedAfter("w.5.0-1.marks" -> (line(0) + line(1)), "w.5.0.marks" -> (damaged + damaged)) ===
      Seq("w.5.0-1.marks", "w.5.2-3.marks", "after 5.3"))
    // A life that has written nothing.
    assert(sealedAfter("w.5.0.marks" -> "") === Nil)
  }

  test("a sealed file that is damaged is sealed again with what the live files still have") {
    assert(sealedAfter("w.5.0-1.marks" -> (line(0) + damaged), "w.5.0.marks" -> (line(1) + line(2))) ===
      Seq("w.5.0-1.marks", "w.5.0-2.marks", "after 5.2"))
  }
}
