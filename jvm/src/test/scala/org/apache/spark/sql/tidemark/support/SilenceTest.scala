package org.apache.spark.sql.tidemark.support

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import io.tidemark.{Idle, SplitBy, WatermarkOptions}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._

/** Readings of devices, second by second of a clock that the test moves, and an idle time of ten of them. */
trait SilenceTest extends ManualClockTest {
  import testImplicits._

  protected val tenSeconds = WatermarkOptions(idle = Idle("10 seconds"))

  /** Splits become idle one after the other, whichever of them has rows. */
  protected val rising =
    tenSeconds.copy(splitBy = SplitBy($"device"), idle = tenSeconds.idle.copy(whenAll = Some("rise")))

  protected def readings: (MemoryStream[(String, Timestamp)], DataFrame) = {
    val stream = MemoryStream[(String, Timestamp)]
    stream -> stream.toDF().toDF("device", "time")
  }

  protected def counted(df: DataFrame): DataFrame =
    df.groupBy(window($"time", "10 minutes").as("w")).count().select(date_format($"w.start", "HH:mm"), $"count")

  protected def second: StreamAction = AdvanceManualClock(1000)
  protected def seconds(count: Int): Seq[StreamAction] = Seq.fill(count)(second)

  /** Brings devices and clock times (`10:20`) in one trigger. */
  protected def more(to: MemoryStream[(String, Timestamp)], rows: (String, String)*): Seq[StreamAction] =
    Seq(AddData(to, rows.map { case (device, time) => device -> at(time) }: _*), second)

  /** Every second "a" says something, so that it is not silent. */
  protected def minutes(to: MemoryStream[(String, Timestamp)], times: Range): Seq[StreamAction] =
    times.flatMap(minute => more(to, "a" -> s"10:$minute"))

  /** A union goes on without an input that is silent, and holds again when it is back; nothing is late without need. */
  protected def isLeftOutWhileSilent(
      both: DataFrame,
      loud: MemoryStream[(String, Timestamp)],
      silent: MemoryStream[(String, Timestamp)]): Unit =
    run(counted(both))(
      Seq(
        AddData(loud, "a" -> at("10:00"), "a" -> at("10:35")),
        AddData(silent, "b" -> at("10:05")),
        second,
        second,
        CheckNewAnswer()) ++ seconds(9) ++ Seq(
        CheckNewAnswer(("10:00", 2L)),
        // The union is at 10:35 now.
        AddData(silent, "b" -> at("10:31")),
        second,
        AddData(loud, "a" -> at("11:00")),
        second,
        second,
        CheckNewAnswer(),
        AddData(silent, "b" -> at("11:05")),
        second,
        second,
        CheckNewAnswer(("10:30", 2L))): _*)

  /** As if the query had been killed in this batch. */
  protected def setBack(checkpoint: File, batch: Long): Unit =
    for {
      log <- Seq("commits", "offsets", "tidemark")
      file <- new File(checkpoint, log).listFiles
      of <- file.getName.stripPrefix(".").takeWhile(_.isDigit).toLongOption
      if of > batch || of == batch && log != "offsets"
    } Files.delete(file.toPath)
}
