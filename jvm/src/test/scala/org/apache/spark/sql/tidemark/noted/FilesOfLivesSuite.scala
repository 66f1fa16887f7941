package org.apache.spark.sql.tidemark.noted

import java.io.IOException
import java.nio.file.{Files, Path}

import io.tidemark.core.noted.{Mark, MarkId, Position}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.{MarkLines, Refusals}

/** What a writer of marks lists of the files in a folder, over failures and lives. */
class FilesOfLivesSuite extends AnyFunSuite with Refusals {

  private def writer(log: Path, now: Long): MarkWriter =
    MarkWriter.inFolder(log.toString, new Configuration, "w", () => now)

  private def note(writer: MarkWriter, time: Long, files: String*): Unit =
    writer.note(Some(time), idle = false, Position.Files(files.toSet))

  private def marks(log: Path): Seq[Mark] =
    new MarkLogReader(MarkLines.folder(log)).read().histories("w").marks

  /** The times and the files of marks that list files. */
  private def notes(log: Path): Seq[(Option[Long], Set[String])] =
    marks(log).flatMap(mark => mark.files.map(mark.timeMillis -> _))

  private def inLog[A](body: Path => A): A = body(Files.createTempDirectory("marks"))

  test("each mark lists the files since the mark before, also in a later life") {
    inLog { log =>
      val first = writer(log, 100)
      note(first, 1, "a")
      note(first, 2, "a", "b")
      val second = writer(log, 200)
      note(second, 3, "a", "b", "c")
      note(second, 4, "b", "c")
      assert(notes(log) ===
        Seq(Some(1L) -> Set("a"), Some(2L) -> Set("b"), Some(3L) -> Set("c"), Some(4L) -> Set.empty))
      assert(marks(log).map(_.place) === Seq(0, 1, 2).map(MarkId(100, _)) ++ Seq(0, 1, 2).map(MarkId(200, _)))
      assert(marks(log).flatMap(_.after) === Seq(MarkId(100, 2)))
    }
  }

  test("a mark that could not be written has its files in the log once it can") {
    inLog { log =>
      val first = writer(log, 100)
      note(first, 1, "a")
      // A folder where the next mark's temporary file should be.
      val inTheWay = Files.createDirectory(log.resolve(".w.100.1.marks.100.tmp"))
      val other = Files.createDirectory(log.resolve(".w.100.0.marks.100.tmp"))
      intercept[IOException](note(first, 2, "a", "b"))
      intercept[IOException](note(first, 2, "a", "b", "c"))
      assert(notes(log) === Seq(Some(1L) -> Set("a")))
      Seq(inTheWay, other).foreach(Files.delete)
      note(first, 2, "a", "b", "c", "d")
      assert(notes(log).map(_._2) === Seq(Set("a"), Set("b"), Set("c"), Set("d")))
      assert(marks(log).map(_.number) === (0 to 4))
    }
  }

  test("a life that is killed before its mark is written leaves its files to the next one") {
    inLog { log =>
      val first = writer(log, 100)
      note(first, 1, "a")
      val inTheWay = Seq(0, 1).map(slot => Files.createDirectory(log.resolve(s".w.100.$slot.marks.100.tmp")))
      intercept[IOException](note(first, 2, "a", "b"))
      inTheWay.foreach(Files.delete)
      note(writer(log, 200), 2, "a", "b", "c")
      assert(notes(log) === Seq(Some(1L) -> Set("a"), Some(2L) -> Set("b", "c")))
      // A life that is fenced off lists no more files.
      intercept[MarkWriter.Fenced](note(first, 3, "a", "b", "c", "d"))
      assert(notes(log).size === 2)
    }
  }

  test("a life whose past was purged lists all files again") {
    inLog { log =>
      note(writer(log, 100), 1, "a")
      note(writer(log, 200), 2, "a", "b")
      Files.delete(log.resolve("w.100.0-1.marks"))
      note(writer(log, 300), 3, "a", "b", "c")
      assert(notes(log) === Seq(Some(2L) -> Set("b"), Some(3L) -> Set("a", "c")))
    }
  }

  test("what a life has written after it was fenced off is not a past") {
    inLog { log =>
      def noteAt(now: Long, time: Long): Unit = writer(log, now).note(Some(time), idle = false, Position.Number(time))
      noteAt(100, 1)
      val late = Files.readString(log.resolve("w.100.0.marks")) +
        MarkLines.line("""{"v":1,"w":"w","e":100,"n":2,"k":"note","t":900,"at":0,"p":{"number":900}}""")
      noteAt(200, 2)
      // The live files of the second life are damaged.
      Files.writeString(log.resolve("w.200.0-1.marks"), Files.readString(log.resolve("w.200.0.marks")))
      Seq(0, 1).foreach(slot => Files.writeString(log.resolve(s"w.200.$slot.marks"), "damaged\n"))
      Files.writeString(log.resolve("w.100.1.marks"), late)
      noteAt(300, 3)
      assert(marks(log).flatMap(_.timeMillis) === Seq(1, 2, 3))
    }
  }

  test("a life after a purge of all marks goes on from the last of them") {
    def purged(line: String) = inLog { log =>
      note(writer(log, 200), 2, "a", "b")
      Seq(0, 1).foreach(slot => Files.deleteIfExists(log.resolve(s"w.200.$slot.marks")))
      Files.writeString(log.resolve("w.200.purged"), line)
      // Another writer's note says nothing of this one.
      Files.writeString(log.resolve("v.900.purged"), line)
      note(writer(log, 150), 3, "a", "b", "c")
      assert(marks(log).map(_.epoch).distinct === Seq(201))
      assert(notes(log) === Seq(Some(3L) -> Set("a", "b", "c")))
      marks(log).head.after
    }
    val line = MarkLines.line("""{"v":1,"w":"w","purged":[200,0],"last":[200,1]}""")
    assert(purged(line) === Some(MarkId(200, 1)))
    for (unusable <- Seq("", "no line\n", line.replace("[200,1]", "200"), line.replace("\"w\":\"w\"", "\"w\":\"v\"")))
      assert(purged(unusable) === Some(MarkId(200, Long.MaxValue)))
  }

  test("a writer whose position is of another kind than those of all others is refused") {
    inLog { log =>
      def noteNumber(name: String): Unit = MarkWriter.inFolder(log.toString, new Configuration, name, () => 100)
        .note(Some(1), idle = false, Position.Number(1))
      note(writer(log, 100), 1, "a")
      assertRefused(
        "MARK_POSITION_MISMATCH",
        "writer" -> "v",
        "position" -> "number",
        "other" -> s"files, as writer 'w' of $log notes it")(noteNumber("v"))
      // Two of three agree, so the third is the stray one.
      val stray = MarkLines.line("""{"v":1,"w":"u","e":1,"n":0,"k":"note","t":9,"at":0,"p":{"number":1}}""")
      Files.writeString(log.resolve("u.1.0.marks"), stray)
      noteNumber("v")
      note(MarkWriter.inFolder(log.toString, new Configuration, "x", () => 100), 1, "b")
    }
  }

  test("files that one mark has no room for are in marks before it, and the time is in the last one") {
    inLog { log =>
      val many = (1 to 25000).map(number => s"$number.json")
      note(writer(log, 100), 1, many: _*)
      assert(notes(log).map { case (time, files) => time -> files.size } ===
        Seq(None -> 10000, None -> 10000, Some(1L) -> 5000))
      assert(notes(log).flatMap(_._2).sorted === many.sorted)
      assert(marks(log).map(_.kind) === Seq(Mark.Alive, Mark.Alive, Mark.Alive, Mark.Note))
      // A line with these names would be too long.
      val long = (1 to 3000).map(number => s"$number-${"\"" * 100}-${"ü" * 100}")
      note(writer(log, 200), 2, many ++ long: _*)
      val added = notes(log).drop(3)
      assert(added.flatMap(_._2).sorted === long.sorted && added.size > 1)
      assert(added.map(_._1).flatten === Seq(2L) && added.last._1.isDefined)
    }
  }
}
