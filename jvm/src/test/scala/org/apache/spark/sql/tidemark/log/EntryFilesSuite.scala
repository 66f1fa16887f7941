package org.apache.spark.sql.tidemark.log

import java.io.File
import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FSDataInputStream, Path, PathFilter}

import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.TwoStreams

/** The files in the checkpoint's `tidemark` folder. */
class EntryFilesSuite extends TwoStreams {

  test("each batch writes one entry file before Spark commits the batch") {
    ObservedFiles.begun.clear()
    keptBy(classOf[ObservedFiles]) {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        recorder.run(carriedColumn(inputs.a, inputs.b))(inputs.wandering.take(3): _*)
        val batches = recorder.batches.map(_.id)
        assert(batchesIn(checkpoint, "tidemark") === batches)
        assert(batchesIn(checkpoint, "commits") === batches)
        // The folder had these entries when Spark began the commit entry of each batch.
        val atCommit = ObservedFiles.begun.asScala.toSeq
        assert(atCommit.map(_._1) === batches)
        for ((batch, entries) <- atCommit) assert(entries === (0L to batch))
      }
    }
  }

  private def entryFile(checkpoint: File, name: String) = new File(checkpoint, s"tidemark/$name")

  private def noEntry(which: String, setting: (String, String), hasWatermarks: Boolean): Unit =
    test(s"no Tidemark entry is written for a query $which") {
      withSQLConf(setting)(withTempDir { checkpoint =>
        val inputs = new Inputs
        val query = if (hasWatermarks) unionOfCounts(inputs.a, inputs.b) else inputs.plain.dropDuplicates("a")
        assert(query.queryExecution.analyzed.exists(_.isInstanceOf[EventTimeWatermark]) === hasWatermarks)
        new Recorder("append", checkpoint).run(query)(inputs.wandering.head)
        assert(batchesIn(checkpoint, "commits").nonEmpty)
        assert(!checkpoint.list().contains("tidemark"))
      })
    }

  noEntry("that is left to Spark", SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max", hasWatermarks = true)

  moreTests {
    noEntry("without watermarks", "spark.tidemark.enabled" -> "true", hasWatermarks = false)

    noEntry("with Tidemark switched off", "spark.tidemark.enabled" -> "false", hasWatermarks = true)

    test("a file whose name is not a batch number is left unchanged in the tidemark folder") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.wandering.head)
        val odd = Seq("12345678901234567890", "007", "-1", "1.", "7.changes.bak", "\u0661")
          .map(entryFile(checkpoint, _))
        odd.foreach(file => Files.write(file.toPath, Array[Byte](1, 2, 3)))
        val before = recorder.batches.size
        recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.wandering(1))
        assert(recorder.batches.size > before)
        assert(odd.forall(_.length == 3))
      }
    }

    test("old entries are deleted together with those of Spark") {
      withSQLConf(SQLConf.MIN_BATCHES_TO_RETAIN.key -> "2") {
        withTempDir { checkpoint =>
          val inputs = new Inputs
          val recorder = new Recorder("append", checkpoint)
          // The second of two runs also deletes what the first has left.
          for (steps <- inputs.wandering.grouped(3)) recorder.run(unionOfCounts(inputs.a, inputs.b))(steps: _*)
          val last = recorder.batches.last.id
          assert(last > 5)
          assert(batchesIn(checkpoint, "tidemark") === Seq(last - 2, last - 1, last))
          assert(batchesIn(checkpoint, "offsets").head > 0)
        }
      }
    }

    test("checkpoint entries are written whole on a file system without rename, also for a rerun batch") {
      keptBy(classOf[WholeFiles]) {
        val straight = new Inputs
        val expected = record("append", carriedColumn(straight.a, straight.b), straight.wandering)
        WholeFiles.made.clear()
        withTempDir { checkpoint =>
          val inputs = new Inputs
          val recorder = new Recorder("append", checkpoint)
          for (step <- inputs.wandering) {
            recorder.run(carriedColumn(inputs.a, inputs.b))(step)
            val last = recorder.batches.last.id
            assert(batchesIn(checkpoint, "tidemark").last === last)
            forget(checkpoint, "commits", last)
          }
          recorder.run(carriedColumn(inputs.a, inputs.b))()
          assertSameBatches(recorder.batches.map(_.copy(step = 0)), expected.map(_.copy(step = 0)))
          assert(batchesIn(checkpoint, "tidemark").toSet === WholeFiles.made.asScala.toSet)
        }
      }
    }
  }
}

/** Records which entries Tidemark has written whenever Spark begins a commit entry. */
final class ObservedFiles(path: Path, conf: Configuration) extends FileContextBasedCheckpointFileManager(path, conf) {

  override def createAtomic(file: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = {
    if (file.getParent.getName == "commits") {
      val entries =
        list(new Path(file.getParent.getParent, "tidemark")).filter(_.getLen > 0).map(_.getPath.getName)
      ObservedFiles.begun.add(file.getName.toLong -> entries.map(_.toLong).sorted.toSeq)
    }
    super.createAtomic(file, overwriteIfPossible)
  }
}

object ObservedFiles {
  val begun = new ConcurrentLinkedQueue[(Long, Seq[Long])]
}

/** A file manager like that of an object store: it cannot rename, and a file exists once it is closed. */
final class WholeFiles(path: Path, conf: Configuration) extends CheckpointFileManager {
  private val files = new FileContextBasedCheckpointFileManager(path, conf)

  override def createAtomic(file: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = {
    if (file.getParent.getName == EntryFiles.Folder) WholeFiles.made.add(file.getName.toLong)
    files.createAtomic(file, overwriteIfPossible)
  }

  override def open(file: Path): FSDataInputStream = files.open(file)
  override def list(folder: Path, filter: PathFilter): Array[FileStatus] = files.list(folder, filter)
  override def mkdirs(folder: Path): Unit = files.mkdirs(folder)
  override def exists(file: Path): Boolean = files.exists(file)
  override def delete(file: Path): Unit = files.delete(file)
  override def isLocal: Boolean = files.isLocal
  override def createCheckpointDirectory(): Path = files.createCheckpointDirectory()
}

object WholeFiles {
  val made = new ConcurrentLinkedQueue[Long]
}
