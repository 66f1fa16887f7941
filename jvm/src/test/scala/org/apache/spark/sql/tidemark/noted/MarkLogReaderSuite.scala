package org.apache.spark.sql.tidemark.noted

import java.io.IOException
import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import io.tidemark.core.noted.{Mark, MarkId, Position}
import io.tidemark.core.noted.WriterHistorySuite.everything

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.MarkLines

/** Reading the folder of a mark log, again and again. */
class MarkLogReaderSuite extends AnyFunSuite {
  import MarkLines._

  private val Now = 1800000000000L

  private def withFolder(test: Path => Unit): Unit = {
    val folder = Files.createTempDirectory("marks")
    try test(folder)
    finally org.apache.spark.util.Utils.deleteRecursively(folder.toFile)
  }

  private def reader(folder: Path, mostMarks: Int = MarkLogReader.MostMarks) =
    new MarkLogReader(MarkLines.folder(folder), mostMarks, () => Now)

  private def mark(number: Long, writer: String = "w", epoch: Long = 1): Mark =
    Mark(writer, epoch, number, Mark.Note, Some(number), 0, Some(Position.Number(number)))

  private def file(number: Long): Mark = mark(number).copy(position = Some(Position.Files(Set(s"f$number"))))

  /** @param age how long ago it was changed, ms */
  private def write(folder: Path, name: String, text: String, age: Long = 60000): Unit = {
    val path = Files.writeString(folder.resolve(name), text)
    Files.setLastModifiedTime(path, FileTime.fromMillis(Now - age))
    ()
  }
  private def lines(marks: Seq[Mark]): String = marks.map(line(_)).mkString

  private def numbers(read: MarkLogContents, writer: String = "w"): Seq[Long] =
    read.histories.get(writer).toSeq.flatMap(_.marks).map(_.number)

  test("live and sealed files are joined") {
    withFolder { folder =>
      write(folder, "w.1.0-2.marks", lines((0L to 2).map(mark(_))))
      write(folder, "w.1.0.marks", lines((3L to 5).map(mark(_))))
      write(folder, "w.1.1.marks", lines((2L to 4).map(mark(_))))
      write(folder, "w.1.2.marks", lines(Seq(mark(9))))
      write(folder, "v.7.0.marks", "")
      val read = reader(folder).read()
      assert(numbers(read) === (0L to 5))
      assert(read.histories.keySet === Set("w"))
      assert(read.skipped === Map.empty)
    }
  }

  test("without a folder there are no marks, and a file in its place is an error") {
    withFolder { folder =>
      assert(reader(folder.resolve("missing")).read().histories === Map.empty)
      write(folder, "file", "")
      intercept[IOException](reader(folder.resolve("file")).read())
    }
  }

  test("a folder with the name of a file of marks is passed over") {
    withFolder { folder =>
      Files.createDirectory(folder.resolve("w.1.0.marks"))
      assert(reader(folder).read().histories === Map.empty)
    }
  }

  test("a file is read again only if its length or its time has changed") {
    withFolder { folder =>
      val log = reader(folder)
      write(folder, "w.1.0-1.marks", lines(Seq(mark(0), mark(1))))
      write(folder, "w.1.0.marks", lines(Seq(mark(2), mark(3))))
      val first = log.read()
      write(folder, "w.1.0-1.marks", lines(Seq(mark(7), mark(8))))
      write(folder, "w.1.0.marks", lines(Seq(mark(5), mark(6))))
      val same = log.read()
      assert(numbers(same) === (0L to 3))
      assert(same.histories("w") eq first.histories("w"))
      write(folder, "w.1.0.marks", lines(Seq(mark(5), mark(6))), age = 50000)
      assert(numbers(log.read()) === Seq(0, 1, 5, 6))
      write(folder, "w.1.0.marks", lines(Seq(mark(5), mark(6), mark(7))), age = 50000)
      assert(numbers(log.read()) === Seq(0, 1, 5, 6, 7))
      Files.delete(folder.resolve("w.1.0.marks"))
      assert(numbers(log.read()) === Seq(0, 1))
    }
  }

  test("a live file that was changed a moment before it was read is read again") {
    withFolder { folder =>
      val log = reader(folder)
      write(folder, "w.1.0.marks", lines(Seq(mark(2))), age = 500)
      assert(numbers(log.read()) === Seq(2))
      write(folder, "w.1.0.marks", lines(Seq(mark(3))), age = 500)
      assert(numbers(log.read()) === Seq(3))
    }
  }

  test("files whose marks were all passed are not read, by their names") {
    withFolder { folder =>
      for (name <- Seq("w.1.0.marks", "w.2.0-255.marks", "w.2.256-511.marks")) write(folder, name, "damaged\n")
      write(folder, "w.2.512-520.marks", lines((512L to 520).map(mark(_, epoch = 2))))
      write(folder, "v.1.0.marks", lines(Seq(mark(0, "v"))))
      val read = reader(folder).read(Map("w" -> MarkId(2, 515)))
      assert(read.skipped === Map.empty)
      assert(numbers(read) === (512L to 520))
      assert(numbers(read, "v") === Seq(0))
      assert(reader(folder).read().skipped === Map("checksum" -> 3))
    }
  }

  test("writers that are not wanted are not read") {
    withFolder { folder =>
      write(folder, "w.1.0.marks", "damaged\n")
      write(folder, "v.1.0.marks", lines(Seq(mark(0, "v"))))
      val read = reader(folder).read(isWanted = _ == "v")
      assert(read.histories.keySet === Set("v"))
      assert(read.skipped === Map.empty)
    }
  }

  test("a long log is read piece by piece, and the first file of each life always") {
    withFolder { folder =>
      def seal(writer: String, epoch: Long, from: Long): Unit =
        write(
          folder,
          s"$writer.$epoch.$from-${from + 9}.marks",
          lines((from until from + 10).map(mark(_, writer, epoch))))
      for (from <- 0L until 100 by 10) { seal("w", 1, from); seal("v", 1, from) }
      seal("w", 2, 0)
      seal("w", 2, 10)
      write(folder, "w.2.0.marks", lines(Seq(mark(20, epoch = 2))))
      val log = reader(folder, mostMarks = 50)
      val read = log.read()
      // The first mark of the second life names none before, so the marks of the first life do not count.
      assert(numbers(read) === (0L until 10) :+ 20L)
      assert(numbers(read, "v") === (0L until 30))
      val next = log.read(Map("w" -> MarkId(2, 9), "v" -> MarkId(1, 29)))
      assert(numbers(next) === (10L to 20))
      assert(numbers(next, "v") === (30L until 70))
    }
  }

  test("a line of two megabytes is left out, and the next one is read") {
    withFolder { folder =>
      val long = line("""{"v":1,"w":"w","pad":"""" + "x" * 2000000 + "\"}")
      write(folder, "w.1.0.marks", long + line(mark(1)))
      write(folder, "w.1.1.marks", "y" * 3000000)
      val read = reader(folder).read()
      assert(read.skipped === Map("long" -> 2))
      assert(numbers(read) === Seq(1))
    }
  }

  test("a line may have 1,048,576 bytes, and not one more") {
    withFolder { folder =>
      def padded(bytes: Int) = {
        val fields = """{"v":1,"w":"w","e":1,"n":0,"k":"alive","at":0,"pad":""}"""
        line(fields.replace("\"\"", "\"" + "x" * (bytes - 9 - fields.length) + "\""))
      }
      for ((bytes, skipped) <- Seq(1048576 -> Map.empty, 1048577 -> Map("long" -> 1))) {
        write(folder, "w.1.0.marks", padded(bytes) + line(mark(1)), age = bytes)
        val read = reader(folder).read()
        assert(read.skipped === skipped)
        assert(numbers(read).last === 1)
        write(folder, "w.1.0.marks", padded(bytes).trim, age = bytes)
        assert(reader(folder).read().skipped === Map((if (skipped.isEmpty) "torn" else "long") -> 1))
      }
    }
  }

  test("a file cut anywhere gives its whole lines") {
    withFolder { folder =>
      val whole = lines((10L to 12).map(mark(_)))
      val size = whole.length / 3
      for (length <- (0 to whole.length by 7) ++ (1 to 3).map(_ * size)) {
        write(folder, "w.1.0.marks", whole.take(length))
        val read = reader(folder).read()
        val history = read.histories.get("w")
        assert(history.filterNot(_.isUnreadable).fold(0)(_.marks.size) === length / size)
        // The writer is known as soon as it has written anything.
        assert(history.isDefined === length > 0)
        assert(read.skipped === (if (length % size == 0) Map.empty else Map("torn" -> 1)))
      }
    }
  }

  test("a chain holds at a lost first line, but not at a purged beginning") {
    withFolder { folder =>
      def passed(before: Option[MarkId]) = {
        val history = reader(folder).read(before.map("w" -> _).toMap).histories("w")
        history.passed(everything, before)
      }
      val good = (300L to 302).map(file)
      write(folder, "w.1.0.marks", lines(good))
      assert(passed(None) === 3)
      assert(passed(Some(MarkId(1, 255))) === 3)
      write(folder, "w.1.0.marks", "damaged\n" + lines(good))
      assert(passed(None) === 0)
      assert(passed(Some(MarkId(1, 255))) === 0)
      assert(passed(Some(MarkId(1, 299))) === 3)
      // The other live file has the line.
      write(folder, "w.1.1.marks", lines(good.take(1)))
      assert(passed(Some(MarkId(1, 255))) === 3)
    }
  }

  /** A log of which one thing happens after each listing. */
  private def busy(folder: Path)(happens: (() => Unit)*): MarkLogReader = {
    val rest = happens.iterator
    val busy = new MarkFolder(new HadoopPath(folder.toUri), new Configuration) {
      override def list(): Seq[MarkFolder.File] = {
        val found = super.list()
        rest.nextOption().foreach(_())
        found
      }
    }
    new MarkLogReader(busy, clockMillis = () => Now)
  }

  private def opens(folder: Path, writer: String): Unit =
    write(folder, s"$writer.1.0.marks", lines(Seq(mark(0, writer).copy(kind = Mark.Alive, timeMillis = None))))

  test("no mark is read without the writers that existed before it") {
    withFolder { folder =>
      write(folder, "eu.1.0.marks", lines(Seq(mark(0, "eu"))))
      val read = busy(folder) { () =>
        opens(folder, "us")
        write(folder, "eu.1.0.marks", lines(Seq(mark(0, "eu"), mark(1, "eu"))))
      }.read()
      assert(numbers(read, "eu") === Seq(0, 1) && read.histories.keySet === Set("eu", "us"))
    }
  }

  test("writers that open again and again are known by their names after three looks") {
    withFolder { folder =>
      write(folder, "eu.1.0.marks", lines(Seq(mark(0, "eu"))))
      val all = (1 to 9).map(n => s"us$n")
      val reader = busy(folder)(all.map(writer => () => opens(folder, writer)): _*)
      assert(reader.read().histories.keySet === Set("eu") ++ all.take(3))
      assert(all.take(4).forall(reader.read().histories.contains))
    }
  }

  test("marks are dated by the file system's clock, whatever that of their host says") {
    withFolder { folder =>
      val marks = Seq(mark(0).copy(writtenMillis = 7000), mark(1).copy(writtenMillis = 9000))
      write(folder, "w.1.0.marks", lines(marks), age = 60000)
      assert(reader(folder).read().histories("w").marks.map(_.writtenMillis) === Seq(Now - 62000, Now - 60000))
    }
  }

  test("a mark in several files has the date from the one that ends first, of those the oldest") {
    val marks = (0L to 2).map(mark(_))
    // Each file with how many marks it has, and its age. A mark is sealed later than it is written.
    val files = Seq(("w.1.0.marks", 2, 60000L), ("w.1.1.marks", 3, 50000L), ("w.1.0-1.marks", 2, 40000L))
    withFolder { folder =>
      for ((name, count, age) <- files) write(folder, name, lines(marks.take(count)), age = age)
      // A file system lists them in any order.
      for (order <- files.map(_._1).permutations) {
        val listed = new MarkFolder(new HadoopPath(folder.toUri), new Configuration) {
          override def list() = super.list().sortBy(file => order.indexOf(file.name.text))
        }
        val dates = new MarkLogReader(listed, clockMillis = () => Now).read().histories("w").marks.map(_.writtenMillis)
        assert(dates === Seq(Now - 60000, Now - 60000, Now - 50000))
      }
    }
  }

  test("the names of sealed files promise marks") {
    withFolder { folder =>
      write(folder, "w.1.0-2.marks", "damaged\n" + lines((1L to 2).map(file)))
      val history = reader(folder).read().histories("w")
      assert(history.passed(everything) === 0)
      assert(history.passed(everything, Some(MarkId(1, 0))) === 2)
    }
  }

  test("a file that is gone when it is opened has no marks") {
    withFolder { folder =>
      var lines = 0
      MarkLines.folder(folder).read(MarkFileName.parse("w.1.0.marks").get)((_, _) => lines += 1)
      assert(lines === 0)
    }
  }
}
