package org.apache.spark.sql.tidemark.log

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import io.tidemark.core.format.{EntryCodec, SectionFormat, SplitsSnapshot}
import io.tidemark.core.format.EntryCodec.Written
import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.noted.{MarkId, WriterState}
import io.tidemark.core.support.ManySplits

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}

import org.apache.spark.SparkFunSuite

/** Logs of a query with many splits, one for each format version, kept in `jvm/src/test/resources/format`. Every later
  * release must read them. (`EntryCodecSuite` has those of small queries.)
  *
  * Write the log of a new version with `build/sbt -Dtidemark.golden=write "spark42/testOnly *KeptFormatSuite"`. Never
  * write an existing log again, and never change the history that it holds.
  */
class KeptFormatSuite extends SparkFunSuite {

  private val versions = Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/format")
  private val now = versions.resolve(SectionFormat.Version.toString)

  /** What the log of a version holds. Since version 2 it has writers of a mark log. */
  private def history(version: Int): Seq[WatermarkEntry] = if (version == 1) splits else splits.map(withWriters)

  private def withWriters(entry: WatermarkEntry): WatermarkEntry = {
    val epoch = 1795404000000L
    val writers = Map(
      "eu" -> WriterState(Some(MarkId(epoch, entry.batch)), epoch + entry.batch, nextMillis = Some(-5000L)),
      "us/1" -> WriterState(None, 0L, hasPending = true),
      "gone" -> WriterState(Some(MarkId(epoch + 1, 7)), epoch, isEnded = true),
      "asleep" -> WriterState(Some(MarkId(0, 0)), epoch, isIdle = true))
    entry.copy(origins = entry.origins.map { case (name, state) => name -> state.copy(writers = writers) })
  }

  private val splits: Seq[WatermarkEntry] = {
    val query = new ManySplits(seed = 1, idleAfter = Some(6500L))
    val many = EntryCodec.MostWhole + 1
    // Splits have rows, are silent, return, and are new; after the first batch never more than half of them together.
    Seq[Seq[Int]](0 until many, 0 until many by 3, 1 until many by 3, Seq(5, many, many + 1)).map(query.next(_))
  }

  /** All files of the log. Its last snapshot is of the entry of batch 2. */
  private def written: Map[String, Array[Byte]] = {
    val entries =
      history(SectionFormat.Version).scanLeft(Option.empty[(Written, EntryCodec.Encoded)]) { (before, entry) =>
        val encoded = EntryCodec.encode(entry, before.map(_._1))
        Some(Written(entry, encoded.checksum) -> encoded)
      }.flatten
    val files = entries.map { case (of, encoded) =>
      s"${of.entry.batch}${if (encoded.isWhole) "" else ".changes"}" -> encoded.data
    }
    val names = SplitsSnapshot.encodeNames(splits(2))
    val states = SplitsSnapshot.encode(entries(2)._1, 2L -> SplitsSnapshot.checksumOf(names))
    files.toMap + ("2.names" -> names) + ("2.splits" -> states)
  }

  private def list(folder: Path): Seq[Path] = {
    val found = Files.list(folder)
    try found.iterator.asScala.toSeq
    finally found.close()
  }

  if (sys.props.get("tidemark.golden").contains("write") && !Files.exists(now)) {
    Files.createDirectories(now)
    written.foreach { case (name, bytes) => Files.write(now.resolve(name), bytes) }
  }

  test("a log of each format version can be read") {
    assert(list(versions).map(_.getFileName.toString.toInt).sorted === (1 to SectionFormat.Version))
    for (version <- list(versions)) withTempDir { checkpoint =>
      FileUtils.copyDirectory(version.toFile, checkpoint.toPath.resolve(EntryFiles.Folder).toFile)
      def log = new EntryWriter(new HadoopPath(checkpoint.toURI), new Configuration, retain = 100)
      assert(splits.last.origins.values.exists(_.splits.idle > 0))
      for (entry <- history(version.getFileName.toString.toInt))
        assert(log.read(entry.batch) === Some(entry), s"version $version, batch ${entry.batch}")
    }
  }

  // Different bytes need another format version, which older releases refuse.
  test("the current format version writes the same bytes as when it was introduced") {
    val files = written
    assert(list(now).map(_.getFileName.toString).toSet === files.keySet)
    assert(files.keySet === Set("0", "1.changes", "2.changes", "2.names", "2.splits", "3.changes"))
    for ((name, bytes) <- files) assert(Files.readAllBytes(now.resolve(name)).toSeq === bytes.toSeq, name)
  }
}
