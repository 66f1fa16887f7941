package org.apache.spark.sql.tidemark.log

import java.io.File
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.tidemark.core.format.SectionFormat
import io.tidemark.core.support.WholeEntry

import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.apache.spark.sql.tidemark.support.TwoStreams

/** A damaged entry stops the query with a clear error. Tidemark guesses nothing, and Spark's files do not change. */
class CheckpointDamageSuite extends TwoStreams {

  refused("a checkpoint entry that is cut off", "CHECKPOINT_ENTRY_DAMAGED")((entry, _) => entry.take(entry.length / 2))

  refused("a checkpoint entry of another batch", "CHECKPOINT_ENTRY_DAMAGED")((_, before) => before)

  moreTests {
    refused("an empty checkpoint entry", "CHECKPOINT_ENTRY_EMPTY")((_, _) => Array.empty)

    refused("a checkpoint entry with a wrong byte", "CHECKPOINT_ENTRY_DAMAGED")((entry, _) =>
      entry.updated(entry.length / 2, (entry(entry.length / 2) ^ 4).toByte))

    refused("a checkpoint entry of a newer format version", "CHECKPOINT_ENTRY_NEWER")((entry, _) =>
      entry.updated("TIDEMARK".length, (SectionFormat.Version + 1).toByte))

    // This entry says that its batch used watermarks which its origins had not reached.
    refused("an entry that would move watermarks backward", "WATERMARK_WENT_BACK", namesFile = false) { (bytes, _) =>
      val entry = WholeEntry.decode(bytes)
      val ahead = entry.decision.origins.map { case (name, at) => name -> at.plus(3600000L) }
      WholeEntry.encode(entry.copy(decision = entry.decision.copy(origins = ahead)))
    }
  }

  /** @param damage changes the bytes of the last entry; its second argument is the entry before it */
  private def refused(name: String, code: String, namesFile: Boolean = true)(
      damage: (Array[Byte], Array[Byte]) => Array[Byte]): Unit =
    test(s"a restart refuses $name with the error $code") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        val (before, after) = inputs.wandering.take(4).splitAt(2)
        recorder.run(query)(before: _*)
        val last = recorder.batches.last.id
        val file = entryFile(checkpoint, last)
        val sound = Files.readAllBytes(file.toPath)
        write(file, damage(sound, Files.readAllBytes(entryFile(checkpoint, last - 1).toPath)))
        val spark = files(checkpoint)

        val refused = refusalOf(recorder.run(query)(after.head))
        assertRefusal(refused, code)
        assert(refused.error.parameters.get("file").map(pathOf) === Option.when(namesFile)(file.getCanonicalPath))
        // Spark has only written which rows the next batch reads.
        val now = files(checkpoint)
        assert((now.keySet -- spark.keySet).map(_.stripPrefix(".").stripSuffix(".crc")).filterNot(_.contains(".")) ===
          Set(s"offsets/${last + 1}"))
        for ((name, bytes) <- spark) assert(now(name) === bytes, name)

        write(file, sound)
        recorder.run(query)(after.tail: _*)
        assert(recorder.batches.map(_.id) === (0L to recorder.batches.last.id))
      }
    }

  testMore("a restart refuses a checkpoint entry that does not match its checksum file, and the error names the file") {
    keptBy(classOf[FileSystemBasedCheckpointFileManager]) {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        recorder.run(query)(inputs.wandering.head)
        val file = entryFile(checkpoint, recorder.batches.last.id)
        assert(new File(file.getParentFile, s".${file.getName}.crc").exists())
        Files.write(file.toPath, Files.readAllBytes(file.toPath).reverse)
        val refused = refusalOf(recorder.run(query)(inputs.wandering(1)))
        assertRefusal(refused, "CHECKPOINT_ENTRY_DAMAGED")
        assert(pathOf(refused.error.parameters("file")) === file.getCanonicalPath)
      }
    }
  }

  test("a query without a tidemark folder in its checkpoint resumes from Spark's watermark") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.step(1 -> "10:00")(1 -> "10:20"))
      new File(checkpoint, "tidemark").listFiles().foreach(_.delete())
      new File(checkpoint, "tidemark").delete()
      recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.step(1 -> "10:31")(1 -> "10:15"))
      // Both origins resumed from the minimum, 10:00, so 10:15 of `tb` is on time again.
      assert(rows(recorder.batches) === Seq("[ta,10:00,1]"))
      assert(entry(checkpoint, recorder.batches.last.id).origins.values.flatMap(_.watermark.millis).toSet ===
        Set(millis("10:31"), millis("10:15")))
    }
  }

  testMore(
    "a restart refuses a query with a carried column if the tidemark folder is missing from its checkpoint") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      recorder.run(carriedColumn(inputs.a, inputs.b))(inputs.wandering.take(2): _*)
      for (batch <- batchesIn(checkpoint, "tidemark")) forget(checkpoint, "tidemark", batch)
      val refused = refusalOf(recorder.run(carriedColumn(inputs.a, inputs.b))(inputs.wandering(2)))
      assertRefusal(refused, "CHECKPOINT_ENTRY_MISSING")
      assert(pathOf(refused.error.parameters("file")) ===
        entryFile(checkpoint, recorder.batches.last.id).getCanonicalPath)
    }
  }

  /** Spark's files in the checkpoint, and their contents. */
  private def files(checkpoint: File): Map[String, Seq[Byte]] = {
    val root: Path = checkpoint.toPath
    val all = Files.walk(root)
    try
      all.iterator.asScala
        .filter(path => Files.isRegularFile(path) && !path.startsWith(root.resolve("tidemark")))
        .map(path => root.relativize(path).toString -> Files.readAllBytes(path).toSeq)
        .toMap
    finally all.close()
  }
}
