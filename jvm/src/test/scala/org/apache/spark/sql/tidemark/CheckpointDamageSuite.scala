package org.apache.spark.sql.tidemark

import java.io.File
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.tidemark.core.WholeEntry
import io.tidemark.core.format.SectionFormat

import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
import org.apache.spark.sql.streaming.StreamingQueryException

/** An entry that cannot be trusted stops the query in words; nothing is guessed, and Spark's files stay what they are. */
class CheckpointDamageSuite extends TwoStreams {

  refused("an empty entry", "CHECKPOINT_ENTRY_EMPTY")((_, _) => Array.empty)

  refused("an entry that is cut off", "CHECKPOINT_ENTRY_DAMAGED")((entry, _) => entry.take(entry.length / 2))

  refused("an entry with a wrong byte", "CHECKPOINT_ENTRY_DAMAGED")((entry, _) =>
    entry.updated(entry.length / 2, (entry(entry.length / 2) ^ 4).toByte))

  refused("an entry of a newer version", "CHECKPOINT_ENTRY_NEWER")((entry, _) =>
    entry.updated("TIDEMARK".length, (SectionFormat.Version + 1).toByte))

  refused("an entry of another batch", "CHECKPOINT_ENTRY_DAMAGED")((_, before) => before)

  // As if the batch had worked with watermarks that its origins did not reach.
  refused("an entry by which watermarks would go back", "WATERMARK_WENT_BACK", namesFile = false) { (bytes, _) =>
    val entry = WholeEntry.decode(bytes)
    val ahead = entry.decision.origins.map { case (name, at) => name -> at.plus(3600000L) }
    WholeEntry.encode(entry.copy(decision = entry.decision.copy(origins = ahead)))
  }

  /** @param damage makes the bytes of the last entry into others; the second argument is the entry before it */
  private def refused(name: String, code: String, namesFile: Boolean = true)(
      damage: (Array[Byte], Array[Byte]) => Array[Byte]): Unit =
    test(s"$name is refused, by name") {
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

        val refused = refusal(recorder.run(query)(after.head))
        assert(refused.getCondition === s"TIDEMARK.$code")
        assert(refused.getMessage.contains(file.getCanonicalPath) === namesFile)
        // All that Spark has done is to note which rows the next batch is to read.
        val now = files(checkpoint)
        assert((now.keySet -- spark.keySet).map(_.stripPrefix(".").stripSuffix(".crc")).filterNot(_.contains(".")) ===
          Set(s"offsets/${last + 1}"))
        for ((name, bytes) <- spark) assert(now(name) === bytes, name)

        write(file, sound)
        recorder.run(query)(after.tail: _*)
        assert(recorder.batches.map(_.id) === (0L to recorder.batches.last.id))
      }
    }

  test("an entry that its checksum file does not fit is refused, by name") {
    keptBy(classOf[FileSystemBasedCheckpointFileManager]) {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        recorder.run(query)(inputs.wandering.head)
        val file = entryFile(checkpoint, recorder.batches.last.id)
        assert(new File(file.getParentFile, s".${file.getName}.crc").exists())
        Files.write(file.toPath, Files.readAllBytes(file.toPath).reverse)
        val failed = intercept[StreamingQueryException](recorder.run(query)(inputs.wandering(1)))
        assert(failed.getMessage.contains("[TIDEMARK.CHECKPOINT_ENTRY_DAMAGED]"))
        assert(failed.getMessage.contains(file.getCanonicalPath))
      }
    }
  }

  test("without the tidemark folder a query goes on from Spark's watermark") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.step(1 -> "10:00")(1 -> "10:20"))
      new File(checkpoint, "tidemark").listFiles().foreach(_.delete())
      new File(checkpoint, "tidemark").delete()
      recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.step(1 -> "10:31")(1 -> "10:15"))
      // Both origins were at the least, 10:00: 10:15 of `tb` is on time again.
      assert(rows(recorder.batches) === Seq("[ta,10:00,1]"))
      assert(entry(checkpoint, recorder.batches.last.id).origins.values.flatMap(_.watermark.millis).toSet ===
        Set(millis("10:31"), millis("10:15")))
    }
  }

  test(
    "without the tidemark folder a query with a carried column is refused: nothing else knows how old its state is") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      recorder.run(carriedColumn(inputs.a, inputs.b))(inputs.wandering.take(2): _*)
      for (batch <- batchesIn(checkpoint, "tidemark")) forget(checkpoint, "tidemark", batch)
      val failed = intercept[StreamingQueryException](
        recorder.run(carriedColumn(inputs.a, inputs.b))(inputs.wandering(2)))
      assert(failed.getMessage.contains("[TIDEMARK.CHECKPOINT_ENTRY_MISSING]"))
      assert(failed.getMessage.contains(entryFile(checkpoint, recorder.batches.last.id).getCanonicalPath))
    }
  }

  /** The files of the checkpoint that are Spark's, and what is in them. */
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
