package org.apache.spark.sql.tidemark.query

import java.io.File
import java.nio.file.Files

import io.tidemark.{MoreSuite, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.core.format.EntryCodec
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.tidemark.support.TwoStreams

/** Queries with so many splits that their entries have only what has changed, stopped, killed and started again. */
class ManySplitsRestartSuite extends TwoStreams with MoreSuite {
  import testImplicits._

  private val Devices = EntryCodec.MostWhole + 100
  private val split: Query =
    (a, _) => counted(withWatermark(a, "ta", "0 seconds", WatermarkOptions(splitBy = SplitBy($"a"))), "ta")

  private def time(minutes: Int) = f"${10 + minutes / 60}:${minutes % 60}%02d"

  /** All devices, then a part of them after the other: the last of a round lets the watermark go on. */
  private def steps(inputs: Inputs): Seq[Step] =
    inputs.step((0 until Devices).map(_ -> time(0)): _*)() +:
      (for {
        round <- 1 to 2
        part <- 0 until 4
      } yield inputs.step((0 until Devices).filter(_ % 4 == part).map(_ -> time(round * 30)): _*)())

  private def changes(checkpoint: File): Seq[String] =
    new File(checkpoint, "tidemark").list.toSeq.filter(_.endsWith(".changes")).filterNot(_.startsWith("."))

  private lazy val straight = {
    val inputs = new Inputs
    record("append", split(inputs.a, inputs.b), steps(inputs))
  }

  // The time in which the query is not running makes every split active later. That is one number, unless the time counts.
  for (setting <- Seq("true", "false"))
    test(s"restarting before every step changes no batch: downtimeIsSilence=$setting") {
      withSQLConf(TidemarkConf.DowntimeIsSilence.key -> setting)(withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        steps(inputs).foreach(step => recorder.run(split(inputs.a, inputs.b))(step))
        assertSameBatches(recorder.batches, straight)
        assert(straight.flatMap(_.rows).size === 2)
        assert(changes(checkpoint).size >= 7)
      })
    }

  for ((what, share) <- Seq("before" -> 0, "while" -> 2))
    test(s"a query that is killed $what it writes the changes of a batch continues as if it had not been killed") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        val (before, after) = steps(inputs).splitAt(5)
        recorder.run(split(inputs.a, inputs.b))(before: _*)
        val last = recorder.batches.last.id
        val file = new File(checkpoint, s"tidemark/$last.changes")
        val whole = Files.readAllBytes(file.toPath)
        forget(checkpoint, "commits", last)
        forget(checkpoint, "tidemark", s"$last.changes")
        if (share > 0) write(file, whole.take(whole.length / share))
        recorder.run(split(inputs.a, inputs.b))(after: _*)
        assertSameBatches(recorder.batches.map(_.copy(step = 0)), straight.map(_.copy(step = 0)))
      }
    }
}
