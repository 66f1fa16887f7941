package org.apache.spark.sql.tidemark.query

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import io.tidemark.SplitBy
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.tidemark.support.SilenceTest

/** Splits are not silent while files with their rows wait to be read. */
class UnreadFilesSuite extends SilenceTest {
  import testImplicits._

  private def readFiles(folder: Path, most: Int): DataFrame =
    spark.readStream.schema("device STRING, time TIMESTAMP").option("maxFilesPerTrigger", most).json(folder.toString)

  /** A file with one row, which is read after those of smaller numbers. */
  private def addFile(folder: Path, number: Int, row: (String, String)): Unit = {
    val hidden = folder.resolve(s".$number")
    Files.writeString(hidden, s"""{"device": "${row._1}", "time": "2024-03-01T${row._2}:00Z"}""")
    Files.setLastModifiedTime(hidden, FileTime.fromMillis(1000L * number))
    Files.move(hidden, folder.resolve(s"$number.json"))
    ()
  }

  test("the rest of a file listing is read before newer files, and the watermark waits for splits in newer files") {
    withTempDir { folder =>
      val files = folder.toPath
      addFile(files, 0, "b" -> "10:00")
      addFile(files, 1, "a" -> "11:00")
      addFile(files, 2, "a" -> "11:01")
      run(counted(withWatermark(
        readFiles(files, most = 2),
        "time",
        "0 seconds",
        rising)))(
        Execute { _ =>
          triggered()
          addFile(files, 3, "b" -> "10:05")
        },
        // Spark reads one file, though two are allowed and two have arrived.
        AdvanceManualClock(60000),
        AdvanceManualClock(60000),
        originsAre("time" -> Some(millis("10:05"))),
        AdvanceManualClock(60000),
        AdvanceManualClock(60000),
        CheckNewAnswer(("10:00", 2L)))
    }
  }

  test("no split becomes idle while an admission limit holds back a backlog") {
    withTempDir { folder =>
      val files = folder.toPath
      val df = readFiles(files, most = 1)
      addFile(files, 0, "b" -> "10:00")
      for (number <- 1 to 5) addFile(files, number, "a" -> s"11:0$number")
      run(counted(withWatermark(df, "time", "0 seconds", tenSeconds.copy(splitBy = SplitBy($"device")))))(
        // Six batches run a minute apart: split "b" is idle only when all files have been read.
        Seq.fill(5)(AdvanceManualClock(60000)) ++ Seq(
          CheckNewAnswer(),
          originsAre("time" -> Some(millis("10:00"))),
          AdvanceManualClock(60000),
          AdvanceManualClock(60000),
          AdvanceManualClock(60000),
          CheckNewAnswer(("10:00", 1L))): _*)
    }
  }
}
