package org.apache.spark.sql.tidemark.log

import java.io.{File, RandomAccessFile}
import java.nio.file.Files

import io.tidemark.MoreSuite

import org.apache.spark.{SparkConf, SparkThrowable}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.StreamingQueryException
import org.apache.spark.sql.tidemark.support.{TroubledFileSystem, TwoStreams}
import org.apache.spark.sql.tidemark.support.TroubledFileSystem._

/** Full and read-only disks, files that cannot be read, and a driver that another one overtakes. */
class CheckpointTroubleSuite extends TwoStreams with MoreSuite {

  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set("spark.hadoop.fs.file.impl", classOf[TroubledFileSystem].getName)
      // Otherwise Hadoop's cache returns the file system of another suite.
      .set("spark.hadoop.fs.file.impl.disable.cache", "true")

  // From the second batch of a run on, the entry's file is created while the batch runs.
  for ((name, trouble) <- Seq("full" -> Full, "read-only" -> ReadOnly); isFirst <- Seq(true, false))
    test(
      s"a query fails if the disk is $name in the ${if (isFirst) "first" else "second"} batch of a run, " +
        "and resumes without loss when the disk works again") {
      val straight = new Inputs
      val expected = record("append", unionOfCounts(straight.a, straight.b), straight.wandering)
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        val (before, after) = inputs.wandering.splitAt(2)
        val (well, ill) = before.splitAt(if (isFirst) before.size else 1)
        recorder.run(query)(well: _*)
        val troubled = () => {
          TroubledFileSystem.trouble = trouble
          after.head()
        }
        val refused = refusalOf(during(NoTrouble)(recorder.run(query)(ill :+ troubled: _*)))
        assertRefusal(refused, "CHECKPOINT_ENTRY_NOT_WRITTEN")
        val last = batchesIn(checkpoint, "commits").last
        assert(pathOf(refused.error.parameters("file")) === entryFile(checkpoint, last + 1).getCanonicalPath)
        recorder.run(query)()
        recorder.run(query)(after.tail: _*)
        assertSameBatches(recorder.batches.map(_.copy(step = 0)), expected.map(_.copy(step = 0)))
      }
    }

  test("an entry, or a folder of entries, that cannot be read ends the query with an error that names it") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      recorder.run(query)(inputs.wandering.head)
      val file = entryFile(checkpoint, recorder.batches.last.id)
      val bytes = Files.readAllBytes(file.toPath)
      forget(checkpoint, "tidemark", file.getName)
      Files.createDirectory(file.toPath)
      val refused = refusalOf(recorder.run(query)(inputs.wandering(1)))
      assertRefusal(refused, "CHECKPOINT_ENTRY_NOT_READ", "reason" -> "it is a folder")
      assert(pathOf(refused.error.parameters("file")) === file.getCanonicalPath)
      Files.delete(file.toPath)
      Files.write(file.toPath, bytes)
      recorder.run(query)()
      // The batch that was begun runs again. A folder in the place of its entry stays, too.
      val next = entryFile(checkpoint, recorder.batches.last.id + 1)
      Files.createDirectory(next.toPath)
      val again = refusalOf(recorder.run(query)(inputs.wandering(2)))
      assertRefusal(again, "CHECKPOINT_ENTRY_NOT_READ", "reason" -> "it is a folder")
      assert(next.isDirectory)
      Files.delete(next.toPath)
      recorder.run(query)()
    }
  }

  for (isFirst <-
      Seq(true, false);
    (ofWhich, kind) <- Seq("" -> "", " of changes" -> ".changes"))
    test(
      s"Spark stops a driver that another driver overtakes in its ${if (isFirst) "first" else "second"} batch, " +
        s"and keeps the other driver's entry$ofWhich") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        val overtaken = udf((time: Long) => CheckpointTroubleSuite.overtake(time)).asNondeterministic()
        def query = counted(inputs.a.where(overtaken(col("ta").cast("long"))), "ta")
        def last = batchesIn(checkpoint, "commits").last
        def other = new File(checkpoint, s"tidemark/$last$kind")
        val (before, after) = (inputs.step(1 -> "10:00")(), inputs.step(2 -> "10:30")())
        if (isFirst) recorder.run(query)(before)
        val overtaking = () => {
          CheckpointTroubleSuite.meanwhile = () => {
            val ended = new File(checkpoint, s"commits/${last + 1}")
            Files.copy(new File(checkpoint, s"commits/$last").toPath, ended.toPath)
            write(other, Array[Byte](1, 2, 3))
          }
          after()
        }
        val failed = intercept[StreamingQueryException](
          recorder.run(query)((if (isFirst) Nil else Seq(before)) :+ overtaking: _*))
        val conditions = causes(failed).collect { case error: SparkThrowable => error.getCondition }
        assert(conditions.contains("CONCURRENT_STREAM_LOG_UPDATE"))
        assert(Files.readAllBytes(other.toPath).toSeq === Seq[Byte](1, 2, 3))
        assert(kind.isEmpty || !entryFile(checkpoint, last).exists())
      }
    }

  test("a restart refuses an entry file of more than 2 GB without reading it") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      recorder.run(counted(inputs.a, "ta"))(inputs.step(1 -> "10:00")())
      val file = entryFile(checkpoint, recorder.batches.last.id)
      val bytes = new RandomAccessFile(file, "rw")
      try bytes.setLength(1L << 31)
      finally bytes.close()
      val refused = refusalOf(recorder.run(counted(inputs.a, "ta"))(inputs.step(2 -> "10:30")()))
      val reason = "it is 2147483648 bytes long, which no entry can be"
      assertRefusal(refused, "CHECKPOINT_ENTRY_DAMAGED", "reason" -> reason)
      assert(pathOf(refused.error.parameters("file")) === file.getCanonicalPath)
    }
  }
}

private object CheckpointTroubleSuite {
  @volatile var meanwhile: () => Unit = () => ()

  /** Calls `meanwhile` once, while a batch is running. */
  def overtake(time: Long): Boolean = {
    val once = meanwhile
    meanwhile = () => ()
    once()
    time >= 0
  }
}
