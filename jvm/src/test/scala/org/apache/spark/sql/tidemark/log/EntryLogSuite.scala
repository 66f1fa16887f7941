package org.apache.spark.sql.tidemark.log

import java.io.File
import java.lang.ref.WeakReference
import java.nio.file.Files

import io.tidemark.TidemarkException
import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.format.{EntryCodec, SectionFormat}
import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.support.ManySplits

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.tidemark.support.Refusals

/** The log of a query with many splits. Entries hold only what has changed, and all files to read them exist. */
class EntryLogSuite extends SparkFunSuite with Eventually with Refusals {
  private val Many = EntryCodec.MostWhole * 2

  private def open(checkpoint: File, retain: Int = 100) =
    new EntryWriter(new Path(checkpoint.toURI), new Configuration, retain)

  private def reader(checkpoint: File): EntryReader = {
    val files = new EntryFiles(new Path(checkpoint.toURI), new Configuration)
    new EntryReader(files, files.list())
  }

  private def files(checkpoint: File): Seq[String] =
    Option(new File(checkpoint, "tidemark").list).toSeq.flatten.filterNot(_.startsWith(".")).sorted

  private def file(checkpoint: File, name: String): File = new File(checkpoint, s"tidemark/$name")

  /** Runs batches in which some splits have rows, and returns each entry as it was written. */
  private def batches(log: EntryWriter, query: ManySplits, many: Int): Seq[WatermarkEntry] = (0 until many).map { _ =>
    val entry = query.next(if (query.entry.batch < 0) 0 until Many else query.some(0.02, Many))
    log.write(entry)
    entry
  }

  /** The name of the file that a refusal is about. */
  private def nameOf(refused: TidemarkException): String = refused.error.parameters("file").split('/').last

  test("a restart reads the last checkpoint entry back, and continues with entries that hold only changes") {
    withTempDir { checkpoint =>
      val query = new ManySplits(1)
      for (run <- 0 until 6) {
        val log = open(checkpoint)
        if (run > 0) assert(log.read(query.entry.batch) === Some(query.entry))
        batches(log, query, 5)
      }
      assert(files(checkpoint).filterNot(_.contains('.')) === Seq("0"))
      assert(files(checkpoint).count(_.endsWith(".changes")) === 29)
    }
  }

  test("snapshots limit how many files a restart reads, and unneeded files are deleted") {
    withTempDir { checkpoint =>
      val query = new ManySplits(2)
      val log = open(checkpoint, retain = 20)
      var entries = Seq.empty[WatermarkEntry]
      // Another thread writes the snapshots, so this runs batches until enough are written.
      eventually(timeout(60.seconds)) {
        entries ++= batches(log, query, 20)
        val kinds = files(checkpoint).groupBy(_.dropWhile(_.isDigit)).view.mapValues(_.size).toMap.withDefaultValue(0)
        assert(!files(checkpoint).contains("0") && kinds(".splits") >= 1 && kinds(".names") === 1)
        assert(files(checkpoint).size < 200)
      }
      // Every batch in the folder can be read, also that of the oldest snapshot if the folder has it.
      for (batch <- reader(checkpoint).parts.flatten) assert(open(checkpoint).read(batch).map(_.batch) === Some(batch))
      // Every batch that Spark may rerun can be read. Older ones need not be readable.
      for (entry <- entries.takeRight(20)) assert(open(checkpoint).read(entry.batch) === Some(entry))
    }
  }

  test("a log with snapshots keeps nothing of earlier batches in memory") {
    withTempDir { checkpoint =>
      val query = new ManySplits(9)
      val log = open(checkpoint)
      val earlier =
        batches(log, query, 10).map(entry => new WeakReference(entry.origins.values.maxBy(_.splits.size).splits))
      eventually(timeout(60.seconds)) {
        batches(log, query, 20)
        assert(files(checkpoint).exists(_.endsWith(".splits")))
      }
      batches(log, query, 3)
      eventually(timeout(60.seconds)) {
        System.gc()
        assert(earlier.count(_.get != null) === 0)
      }
      assert(log.read(query.entry.batch) === Some(query.entry))
    }
  }

  test("entries that are read as one chain equal the entries that are read one by one") {
    withSnapshot { (checkpoint, last) =>
      val parts = reader(checkpoint).parts
      assert(parts.size > 1 && parts.size < parts.flatten.size && parts.flatten.last === last)
      for {
        part <- parts
        (batch, entry) <- part.zip(reader(checkpoint).readAll(part))
      } assert(Some(entry) === open(checkpoint).read(batch))
    }
  }

  test("a rerun batch keeps its checkpoint entry, unless that was decided otherwise or cannot be read") {
    withTempDir { checkpoint =>
      val query = new ManySplits(3)
      val entries = batches(open(checkpoint), query, 3)
      assert(files(checkpoint) === Seq("0", "1.changes", "2.changes"))
      def bytes = Files.readAllBytes(file(checkpoint, "2.changes").toPath).toSeq
      val before = bytes
      // The batch ends later when it runs again, and the entry of its first run counts.
      val later = entries(2).copy(endMillis = entries(2).endMillis + 1000L)
      val log = open(checkpoint)
      assert(log.read(1) === Some(entries(1)))
      assert(log.write(later) === entries(2))
      assert(log.read(2) === Some(entries(2)) && bytes === before)
      // A newly opened log does not know the entry before, so it writes a whole one.
      val otherwise = later.copy(decision = Decision(Map(OriginName("readings", 0) -> Watermark.At(1L)), Floors.none))
      assert(open(checkpoint).write(otherwise) === otherwise)
      assert(files(checkpoint) === Seq("0", "1.changes", "2"))
      Files.write(file(checkpoint, "2").toPath, Array[Byte](1, 2, 3))
      val again = open(checkpoint)
      assert(again.read(1) === Some(entries(1)))
      assert(again.write(later) === later)
      assert(files(checkpoint) === Seq("0", "1.changes", "2.changes"))
      assert(open(checkpoint).read(2) === Some(later))
    }
  }

  test("a file that is prepared becomes the entry, of either kind, or is deleted") {
    withTempDir { checkpoint =>
      val query = new ManySplits(8)
      val log = open(checkpoint)
      def next(active: Iterable[Int]): WatermarkEntry = {
        val entry = query.next(active)
        log.begin()
        log.write(entry)
        entry
      }
      def temporary = new File(checkpoint, "tidemark").list.count(_.endsWith(".tmp"))
      val entries = Seq(next(0 until Many), next(Seq(1)), next(Seq(2)), next(0 until Many))
      assert(files(checkpoint) === Seq("0", "1.changes", "2.changes", "3"))
      assert(temporary === 0)
      log.begin()
      eventually(timeout(60.seconds))(assert(temporary === 1))
      // The run ends in the middle of batch 4, and another run writes its entry before the file is deleted.
      val next4 = open(checkpoint)
      assert(next4.read(3) === Some(query.entry))
      next4.write(query.next(Seq(3)))
      log.abandon()
      eventually(timeout(60.seconds))(assert(temporary === 0))
      assert(open(checkpoint).read(4) === Some(query.entry))
      for (entry <- entries) assert(open(checkpoint).read(entry.batch) === Some(entry))
    }
  }

  test("a correction counts in the place of the entry, also for the batches after it") {
    withTempDir { checkpoint =>
      val query = new ManySplits(10)
      val entries = batches(open(checkpoint), query, 3)
      val (running, corrector) = (open(checkpoint), open(checkpoint))
      assert(running.read(2) === corrector.read(2))
      val corrected = entries(2).copy(timestampMillis = 7L)
      assert(corrector.correct(corrected).map(_.before.split('/').last) === Some("2.changes"))
      assert(open(checkpoint).read(2) === Some(corrected))
      val next = query.next(Seq(1))
      assertRefusal(refusalOf(running.write(next)), "ENTRY_CHANGED")
      val restarted = open(checkpoint)
      assert(restarted.read(2) === Some(corrected))
      restarted.write(next)
      assert(files(checkpoint) === Seq("0", "1.changes", "2.changes", "2.corrected-1", "3.changes"))
      assert(open(checkpoint).read(3) === Some(next))
      assert(reader(checkpoint).parts.flatMap(reader(checkpoint).readAll(_)) === entries.init :+ corrected :+ next)
    }
  }

  test("checkpoint entries of later batches are deleted when a checkpoint is set back and runs again") {
    withTempDir { checkpoint =>
      val (query, other) = (new ManySplits(4), new ManySplits(5))
      batches(open(checkpoint), query, 8)
      val entries = batches(open(checkpoint), other, 3)
      assert(files(checkpoint) === Seq("0", "1.changes", "2.changes"))
      assert(open(checkpoint).read(2) === Some(entries(2)))
    }
  }

  test("a lookup of the newest entry skips an entry that cannot be read") {
    withTempDir { checkpoint =>
      val entries = batches(open(checkpoint), new ManySplits(6), 4)
      assert(open(checkpoint).newestBefore(9) === Some(entries(3)))
      val cut = file(checkpoint, "3.changes")
      Files.write(cut.toPath, Files.readAllBytes(cut.toPath).take(50))
      assert(open(checkpoint).newestBefore(9) === Some(entries(2)))
    }
  }

  private val damages = Seq(
    "empty" -> ((_: Array[Byte]) => Array.empty[Byte], "CHECKPOINT_ENTRY_EMPTY"),
    "cut off" -> ((b: Array[Byte]) => b.take(b.length / 2), "CHECKPOINT_ENTRY_DAMAGED"),
    "changed in one bit" ->
      ((b: Array[Byte]) => b.updated(b.length / 2, (b(b.length / 2) ^ 4).toByte), "CHECKPOINT_ENTRY_DAMAGED"),
    "of a newer format version" -> (
      (b: Array[Byte]) => b.updated("TIDEMARK".length, (SectionFormat.Version + 1).toByte),
      "CHECKPOINT_ENTRY_NEWER"))

  for ((what, (damage, code)) <- damages)
    test(s"a read of the last entry refuses a file that is $what, and the error names the file") {
      withSnapshot { (checkpoint, last) =>
        for (name <- files(checkpoint).filter(isNeeded(_, checkpoint, last))) {
          val bytes = Files.readAllBytes(file(checkpoint, name).toPath)
          Files.write(file(checkpoint, name).toPath, damage(bytes))
          val refused = refusalOf(open(checkpoint).read(last))
          withClue(name)(assertRefusal(refused, code))
          assert(nameOf(refused) === name)
          Files.write(file(checkpoint, name).toPath, bytes)
        }
        assert(open(checkpoint).read(last).nonEmpty)
      }
    }

  test("a read of the last entry fails if a needed file is missing, and the error names the file") {
    withSnapshot { (checkpoint, last) =>
      val needed = files(checkpoint).filter(isNeeded(_, checkpoint, last)).filterNot(_ == s"$last.changes")
      // A missing snapshot is not an error: the entries before it are read instead.
      for (name <- needed if !name.endsWith(".splits")) {
        val bytes = Files.readAllBytes(file(checkpoint, name).toPath)
        Files.delete(file(checkpoint, name).toPath)
        val refused = refusalOf(open(checkpoint).read(last))
        assertRefusal(refused, "CHECKPOINT_ENTRY_DAMAGED")
        assert(refused.error.parameters("reason").contains(s"/$name, "))
        Files.write(file(checkpoint, name).toPath, bytes)
      }
    }
  }

  private def isNeeded(name: String, checkpoint: File, last: Long): Boolean = {
    def newest(kind: String) = files(checkpoint).filter(_.endsWith(kind)).map(_.takeWhile(_.isDigit).toLong).max
    val (batch, kind) = name.span(_.isDigit)
    kind match {
      case ".changes" => batch.toLong > newest(".splits") && batch.toLong <= last
      case ".splits" | ".names" => batch.toLong == newest(kind)
      case _ => false
    }
  }

  /** A log with a snapshot, and the number of its last batch. */
  private def withSnapshot(test: (File, Long) => Unit): Unit = withTempDir { checkpoint =>
    val query = new ManySplits(7)
    val log = open(checkpoint)
    eventually(timeout(60.seconds)) {
      batches(log, query, 20)
      assert(files(checkpoint).exists(_.endsWith(".splits")))
    }
    batches(log, query, 3)
    withTempDir { copy =>
      // Another snapshot may be in progress, so its temporary file can disappear during the copy.
      eventually(timeout(60.seconds))(FileUtils.copyDirectory(checkpoint, copy))
      test(copy, query.entry.batch)
    }
  }
}
